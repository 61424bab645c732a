/** The image that deploy/Dockerfile makes, built without a registry, and programs that run in it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

const script = (name: string): string => join(import.meta.dirname, name);

/** Why it can't be built here; undefined where it can. */
export function whyNoImage(): string | undefined {
  const { status, stderr } = spawnSync('bash', ['-c', '. "$0"', script('buildah.sh')], {
    encoding: 'utf8',
  });
  return status === 0 ? undefined : stderr.trim();
}

/** What a program printed; throws with it when it fails. */
function done(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0)
    throw new Error(
      `${program} ${args.join(' ')} ended with exit code ${status}:\n${stdout}\n${stderr}`,
    );
  return stdout;
}

const buildah = (...args: readonly string[]): string =>
  done('bash', ['-c', '. "$0"; buildah "$@"', script('buildah.sh'), ...args]);

/** Builds it from nothing but the base images, and gives its id. */
export const buildImage = (name: string): string => done(script('build-image.sh'), [name]).trim();

export interface ImageSettings {
  readonly OCIv1: {
    readonly config: {
      readonly User: string;
      readonly Env: readonly string[];
      readonly Entrypoint: readonly string[];
    };
    readonly rootfs: { readonly diff_ids: readonly string[] };
  };
}

export const imageSettings = (id: string): ImageSettings =>
  JSON.parse(buildah('inspect', '--type', 'image', id)) as ImageSettings;

/** An archive that `ctr images import` reads, in which the image has this name. */
export function saveImage(id: string, file: string, name: string): void {
  rmSync(file, { force: true });
  buildah('push', '--quiet', id, `docker-archive:${file}:${name}`);
}

export const removeImages = (names: readonly string[]): void => {
  buildah('rmi', '--force', ...names);
};

/** Its files, in a folder of this machine, and how to do away with them. */
export function unpackedImage(id: string): { readonly root: string; remove(): void } {
  const container = buildah('from', '--pull=never', id).trim();
  return {
    root: buildah('mount', container).trim(),
    remove: () => void buildah('rm', container),
  };
}

/** A program as a container of deploy/ runs it, but for its network. `folder` holds what is in /var/run/ovn and /var/lib/ovn. */
const argvIn = (root: string, folder: string, command: readonly string[]): readonly string[] => [
  root,
  folder,
  '+dac_override',
  ...command,
];

/** What a command printed. */
export const printedIn = (root: string, folder: string, command: readonly string[]): string =>
  done(script('in-image.sh'), argvIn(root, folder, command));

/** A command that goes on. */
export const startIn = (root: string, folder: string, command: readonly string[]): ChildProcess =>
  spawn(script('in-image.sh'), argvIn(root, folder, command), { stdio: 'ignore' });
