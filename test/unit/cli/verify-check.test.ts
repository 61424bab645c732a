import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { certificateOf } from '../../../src/verify/certificate/certify.ts';
import type { Snapshot } from '../../../src/verify/snapshot.ts';
import { prove } from '../../../src/verify/verify.ts';
import { Installation } from '../../support/run/heddle.ts';
import { connectedSnapshot } from '../../support/verify/connected-zone.ts';

const textOf = (snapshot: Snapshot): string =>
  JSON.stringify(
    certificateOf(snapshot, prove(snapshot), { time: '2026-01-02T03:04:05.000Z', heddle: '0.0.0' }),
  );
const GOOD = textOf(connectedSnapshot());

const check = async (text: string, ...flags: readonly string[]) => {
  using installation = new Installation();
  const file = join(installation.folder, 'certificate.json');
  writeFileSync(file, text);
  return await installation.runHere('verify', '--check', file, ...flags);
};

test('a certificate that holds is summed up, and gives the exit code of its verdict', async () => {
  const { code, stdout } = await check(GOOD);
  expect(stdout).toContain('holds: node n1 at 2026-01-02T03:04:05.000Z: apart');
  expect(stdout).toContain('2 networks, 1 pairs: 0 apart, 1 may reach each other by an object');
  expect(code).toBe(0);
  const open = await check(textOf(connectedSnapshot({ unread: ['nftables: nft is missing'] })));
  expect(open.stdout).toContain('not read: nftables: nft is missing');
  expect(open.code).toBe(2);
});

test.each([
  ['torn', GOOD.slice(0, GOOD.length / 2), 'is no JSON'],
  ['empty', '', 'the file (0 characters) is no JSON'],
  ['of another kind', '{"apiVersion":"v1"}', 'format: Required value'],
  ['changed', GOOD.replace('"node":"n1"', '"node":"n2"'), 'digest: '],
])('a file that is %s is refused', async (_, text, why) => {
  const { code, stderr } = await check(text);
  expect(stderr).toContain('does not hold');
  expect(stderr).toContain(why);
  expect(code).toBe(65);
  const { stdout } = await check(text, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    holds: false,
    wrong: expect.arrayContaining([expect.stringContaining(why)]) as unknown,
  });
});

const PLACED = ['--node', 'n1', '--nb', 'unix:/nowhere'];

test.each([
  [['--packets'], '--packets: is for --witnesses, which is missing'],
  [
    ['--witnesses', '3', '--packets', '--sb', 'unix:/nowhere'],
    '--packets: needs --ovs: it says which interface a pod has',
  ],
  [['--check', 'file', '--packets'], '--check: goes with none of'],
])('%j is refused with what is missing', async (flags, why) => {
  using installation = new Installation();
  await expect(installation.runHere('verify', ...PLACED, ...flags)).rejects.toThrow(why);
});
