/** Makes what a lab starts from, installing what that needs. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { labScripts, LabError, type LabKind } from './paths.ts';
import { command } from './processes.ts';

interface Need {
  readonly program: string;
  readonly package: string;
  readonly why: string;
}

const NEEDS: Readonly<Record<LabKind, readonly Need[]>> = {
  host: [
    { program: 'mmdebstrap', package: 'mmdebstrap', why: "builds the nodes' root file system" },
  ],
  vm: [
    { program: 'mmdebstrap', package: 'mmdebstrap', why: "builds the nodes' root file system" },
    { program: 'gcc', package: 'gcc', why: "compiles the virtual machine's kernel" },
    { program: 'gencat', package: 'libc6-dev', why: "has the C library's headers" },
    { program: 'make', package: 'make', why: 'builds it' },
    { program: 'flex', package: 'flex', why: 'reads its configuration' },
    { program: 'bison', package: 'bison', why: 'reads its configuration' },
    { program: 'bc', package: 'bc', why: 'computes its constants' },
    { program: 'strip', package: 'binutils', why: 'makes it small' },
    { program: 'xz', package: 'xz-utils', why: 'unpacks its source' },
  ],
};

/** Whether a program is in PATH, or where Debian keeps those of the administrator. */
function isInstalled(program: string): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function install(needs: readonly Need[], progress: (line: string) => void): Promise<void> {
  const packages = needs.map((need) => need.package);
  for (const need of needs) progress(`installing ${need.package} (apt): it ${need.why}`);
  const apt = (...args: string[]): Promise<{ code: number; stderr: string; stdout: string }> =>
    command('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...args], {
      environment: { DEBIAN_FRONTEND: 'noninteractive' },
    });
  const args = ['install', '-y', '--no-install-recommends', ...packages];
  let result = await apt(...args);
  if (result.code !== 0) {
    await apt('update'); // a fresh machine has no package lists yet
    result = await apt(...args);
  }
  if (result.code !== 0)
    throw new LabError(
      `apt-get could not install ${packages.join(', ')}: ${(result.stderr || result.stdout).trim()}`,
    );
}

/** Has everything ready from which a lab of that kind starts. Takes a minute the first time, with a kernel some more, nothing later. */
export async function prepare(kind: LabKind, progress: (line: string) => void): Promise<void> {
  const missing = NEEDS[kind].filter((need) => !isInstalled(need.program));
  if (missing.length > 0) await install(missing, progress);
  await script('build', [kind], progress);
  if (kind === 'host') await script('build-runtime', [], progress);
}

async function script(
  name: string,
  args: readonly string[],
  progress: (line: string) => void,
): Promise<void> {
  let pending = '';
  const result = await command(join(labScripts, name), args, {
    onStdout(text) {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) progress(line);
    },
  });
  if (result.code !== 0)
    throw new LabError(
      `the lab's file system could not be built (lab/${name}, exit code ${result.code}): ${result.stderr.trim().split('\n').slice(-8).join('\n')}`,
    );
}
