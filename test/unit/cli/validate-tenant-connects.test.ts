import { stringify } from 'yaml';
import { expect, test } from 'vitest';
import { parseManifest } from '../../../src/api/validation/manifest.ts';
import type { NetworkConnect } from '../../../src/api/types.ts';
import { tenantConnectNotes } from '../../../src/cli/validate-tenant-connects.ts';
import { networkConnect } from '../../support/cluster/cluster.ts';

const documents = (...requests: readonly NetworkConnect[]) =>
  parseManifest(requests.map((one) => stringify(one)).join('---\n'), 'nc.yaml').documents;

const ASKS = networkConnect('blue/to-green', 'net', 'green/net');
const ANSWERS = networkConnect('green/to-blue', 'net', 'blue/net', ['ServiceNetwork']);
const UNANSWERED =
  'NetworkConnect blue/to-green: none of these files answers it, with green/net as its network and blue/net as its peer';

test('two that name each other would connect what both name, with what is stored already', () => {
  const would =
    'would connect blue/net and green/net (services), where --tenant-connect-subnets is set';
  expect(tenantConnectNotes(documents(ANSWERS, ASKS), [])).toEqual([
    `NetworkConnects blue/to-green and green/to-blue ${would}`,
  ]);
  expect(tenantConnectNotes(documents(ASKS), documents(ANSWERS))).toEqual([
    `NetworkConnects blue/to-green and green/to-blue ${would}`,
  ]);
  // Of what is stored alone nothing is told.
  expect(tenantConnectNotes([], documents(ASKS, ANSWERS))).toEqual([]);
});

test('one that no other answers is told so, also one that names it for another network', () => {
  expect(tenantConnectNotes(documents(ASKS), [])).toEqual([UNANSWERED]);
  const other = networkConnect('green/to-blue', 'other', 'blue/net');
  expect(tenantConnectNotes(documents(ASKS, other), [])).toContain(UNANSWERED);
});

test('two with nothing in common connect nothing', () => {
  const pods = networkConnect('blue/to-green', 'net', 'green/net', ['PodNetwork']);
  expect(tenantConnectNotes(documents(ANSWERS, pods), [])).toEqual([
    'NetworkConnects blue/to-green and green/to-blue have no connectivity in common: nothing would be connected',
  ]);
});
