/** What is installed is known, comes again, and runs nothing of others while it is installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { imageBom } from '../../deploy/sbom.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const dockerfile = read('deploy/Dockerfile').replaceAll(/\\\n/g, ' ');

interface Lock {
  readonly version: string;
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly version?: string;
        readonly dev?: boolean;
        readonly optional?: boolean;
        readonly integrity?: string;
        /** Where it comes from; a folder of the repository for its own packages. */
        readonly resolved?: string;
        readonly link?: boolean;
      }
    >
  >;
}
const lock = JSON.parse(read('package-lock.json')) as Lock;
/** The repository's own: Heddle, and the packages of its workspace. */
const { workspaces } = JSON.parse(read('package.json')) as { workspaces: readonly string[] };
const installed = Object.entries(lock.packages).filter(
  ([path, { link }]) => path !== '' && link !== true && !workspaces.includes(path),
);

describe('base images', () => {
  test('are named by digest, by who builds', () => {
    const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(bases)).toEqual(new Set(['${NODE_IMAGE}', '${DEBIAN_IMAGE}']));
    expect(dockerfile).not.toMatch(/^ARG (NODE|DEBIAN)_IMAGE=/m);
    const check = /^RUN (for image in .*done)$/m.exec(dockerfile)?.[1] ?? 'exit 99';
    const built = (NODE_IMAGE: string): number | null =>
      spawnSync('sh', ['-c', check], { env: { NODE_IMAGE, DEBIAN_IMAGE: 'debian@sha256:1' } })
        .status;
    expect(built('node:24@sha256:0123')).toBe(0);
    expect(built('node:24')).toBe(1);
    expect(built('')).toBe(1);
  });

  test('are those of the Node.js that the project pins, and its digest is asked for', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    const release = /NODE_IMAGE=node:([\d.]+)-trixie-slim/.exec(read('deploy/base-images'))?.[1];
    expect(Object.values(optionalDependencies)).toEqual([release, release]);
    const folder = ownFolder('heddle-images');
    const docker = '#!/bin/sh\n[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo sha256:0123\n';
    execFileSync('sh', [
      '-c',
      'printf %s "$1" > "$2"; chmod 755 "$2"',
      'sh',
      docker,
      join(folder, 'docker'),
    ]);
    const PATH = `${folder}:${process.env['PATH'] ?? ''}`;
    const said = execFileSync(join(ROOT, 'deploy/base-images'), {
      env: { PATH },
      encoding: 'utf8',
    });
    expect(said).toBe(
      `NODE_IMAGE=node:${release}-trixie-slim@sha256:0123\nDEBIAN_IMAGE=debian:trixie-slim@sha256:0123\n`,
    );
    rmSync(folder, { recursive: true });
  });
});

describe('packages', () => {
  test('have the contents that were looked at', () => {
    expect(installed.length).toBeGreaterThan(50);
    expect(installed.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
  });

  test('of the workspace are folders of the repository, and what they need is one exact version', () => {
    const links = Object.entries(lock.packages).filter(([, { link }]) => link === true);
    expect(new Set(links.map(([, { resolved }]) => resolved))).toEqual(new Set(workspaces));
    for (const folder of workspaces) {
      const { dependencies = {} } = JSON.parse(read(`${folder}/package.json`)) as {
        dependencies?: Record<string, string>;
      };
      for (const [name, version] of Object.entries(dependencies))
        expect(lock.packages[`node_modules/${name}`]?.version).toBe(version);
      expect(Object.keys(lock.packages).filter((path) => path.startsWith(`${folder}/`))).toEqual(
        [],
      );
      // npm installs from all package files: without one, the image would lack its package.
      expect(dockerfile).toContain(`\nCOPY ${folder}/package.json ${folder}/package.json\n`);
    }
  });

  test('are not installed with the command: what it needs is compiled into it', () => {
    const manifest = JSON.parse(read('package.json')) as { dependencies?: object };
    expect(manifest.dependencies).toBeUndefined();
  });

  test('run nothing while they are installed', () => {
    const commands = [
      'deploy/Dockerfile',
      'dev',
      '.ci/run',
      'README.md',
      'docs/install.md',
    ].flatMap((file) =>
      [...read(file).matchAll(/^(?!\s*(?:#|echo|\[)).*\bnpm (?:ci|install)\b.*$/gm)].map(
        ([line]) => line,
      ),
    );
    expect(commands.length).toBeGreaterThanOrEqual(2);
    for (const line of commands)
      if (!line.includes('echo ')) expect(line).toContain('--ignore-scripts');
  });
});

describe('the bill of materials', () => {
  const line = '-'.repeat(80);
  /** As build.ts writes them: the licence of one is several lines long. */
  const notices = ['@grpc/grpc-js', '@opentelemetry/api', 'ajv']
    .map((name) => `${name} ${lock.packages[`node_modules/${name}`]?.version} (MIT)`)
    .join(`\n\nTHE LICENSE\n\nAll (rights) reserved\n\n${line}\n\n`);
  const listed = 'libc6 2.41-12 amd64\novn-host 25.03.0-1 amd64\n';
  interface Bill {
    readonly components: readonly {
      readonly 'bom-ref': string;
      readonly name: string;
      readonly version: string;
    }[];
  }

  test('names every package that is compiled in, also one that is for development by its package.json, those of Debian, and Node.js', () => {
    const { components } = imageBom(lock, notices, listed, '24.21.0', 1) as Bill;
    const names = components.map(({ name, version }) => `${name} ${version}`);
    expect(names).toContain(
      `@grpc/grpc-js ${lock.packages['node_modules/@grpc/grpc-js']?.version}`,
    );
    expect(names).toEqual(
      expect.arrayContaining(['libc6 2.41-12', 'ovn-host 25.03.0-1', 'node 24.21.0']),
    );
    expect(components).toHaveLength(3 + 3);
    expect(components).toContainEqual(
      expect.objectContaining({
        purl: 'pkg:npm/%40opentelemetry/api@1.10.0',
        licenses: [{ license: { id: 'Apache-2.0' } }],
      }),
    );
    expect(new Set(components.map((one) => one['bom-ref'])).size).toBe(components.length);
  });

  test('is the same for the same contents, and another one for others', () => {
    const bill = (packages: string): string =>
      JSON.stringify(imageBom(lock, notices, packages, '24.21.0', 7));
    expect(bill(listed)).toBe(bill(listed));
    expect(bill(listed)).toContain('"timestamp":"1970-01-01T00:00:07.000Z"');
    expect(bill(listed)).not.toBe(bill(listed.replace('25.03.0', '25.03.1')));
    expect(() => bill('')).toThrow('dpkg-query listed no package');
    expect(() => bill('a b\n')).toThrow('which is no package');
    expect(() => imageBom(lock, 'left-pad 1.3.0 (WTFPL)\n', listed, '24.21.0', 7)).toThrow(
      '"left-pad 1.3.0", which the notices name',
    );
  });
});
