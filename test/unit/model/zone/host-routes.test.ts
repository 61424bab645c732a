import { expect, test } from 'vitest';
import { DerivationGraph } from '../../../../src/facts/derivation-graph.ts';
import { ReadRecorder, type Reader } from '../../../../src/facts/reads.ts';
import { hostRouteTables } from '../../../../src/model/zone/host-routes.ts';
import { exampleZone } from '../../../support/zone/zones.ts';

test('who reads the routes of a family is told when they are others, and of nothing else', () => {
  const recorder = new ReadRecorder();
  const graph = new DerivationGraph(recorder);
  const { settings } = exampleZone;
  const { hostRoutes } = hostRouteTables({ nodeName: 'n1', settings, recorder, graph });
  const found = (dst: string): boolean =>
    hostRoutes.put(dst.includes(':') ? 'v6' : 'v4', { routes: [{ dst, dev: 'eth1' }] });
  let changes = 0;
  const reader: Reader = {
    reads: [],
    invalidate() {
      changes += 1;
    },
  };
  expect(recorder.run(reader, () => hostRoutes.get('v4'))).toBeUndefined();
  found('10.99.0.0/16');
  expect(changes).toBe(1);
  recorder.run(reader, () => hostRoutes.get('v4'));
  found('10.99.0.0/16');
  found('fc00:99::/64');
  expect(changes).toBe(1);
  found('10.98.0.0/16');
  expect(changes).toBe(2);
});
