import { expect, test } from 'vitest';
import { Program } from '../../../../src/node/programs/program.ts';

const inShell = (text: string, timeout: number): Program =>
  new Program(['sh', '-c', text, 'sh'], { timeout }, 'a shell', Error);

test('a program is waited for with a limit', async () => {
  await expect(inShell('exec sleep 60', 50).run([])).rejects.toThrow(/did not end within 0.05 s/);
});

test('a program that is not there is an error with a remedy', async () => {
  await expect(new Program(['/nowhere/nft'], {}, 'nftables', Error).run([])).rejects.toThrow(
    /nft can't be run: .*; install nftables/,
  );
});

test('what it is given, says, and ends with is known', async () => {
  expect(await inShell('cat; echo oh >&2; exit 2', 20_000).run([], 'in')).toMatchObject({
    code: 2,
    stdout: 'in',
    stderr: 'oh\n',
  });
});
