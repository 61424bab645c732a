/** A manager that starts gives others their turns: what ends in any of them has ended. */
import { expect, test } from 'vitest';
import { clusterNetworkConnects, egressIPs } from '../../../src/api/kinds.ts';
import type { EgressIP } from '../../../src/api/types.ts';
import { nextTurn } from '../../../src/store/turn.ts';
import {
  apply,
  connect,
  layer3,
  nadLines,
  namespace,
  rawNad,
  remove,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

/** More than a start takes. */
const TURNS = 12;

const egressIp = (name: string): EgressIP => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  metadata: { name },
  spec: { egressIPs: ['172.18.0.100'], namespaceSelector: {} },
});

/** All that was given to the objects of a round, whoever got it. */
async function given(store: MemoryStore, round: string): Promise<readonly string[]> {
  const connection = await store.get(clusterNetworkConnects, round);
  const egress = await store.get(egressIPs, round);
  return [
    ...(await nadLines(store)).flatMap((line) => line.match(/(?<=id=)[0-9]+/) ?? []),
    ...[connection, egress].flatMap((one) => Object.values(one?.metadata.annotations ?? {})),
  ].toSorted();
}

test('what goes in any turn of a start gives back all that it had', async () => {
  const store = new MemoryStore();
  await apply(store, namespace('a'), namespace('b'));
  const fill = (round: string): Promise<void> =>
    apply(
      store,
      layer3(`a/${round}`, '10.1.0.0/16'),
      layer3(`b/${round}`, '10.2.0.0/16'),
      rawNad(`a/other-${round}`, {
        cniVersion: '1.1.0',
        type: 'ovn-k8s-cni-overlay',
        name: `other-${round}`,
        netAttachDefName: `a/other-${round}`,
        topology: 'layer2',
      }),
      connect(round, ['a', 'b'], '192.168.0.0/16/24'),
      egressIp(round),
    );
  const clear = async (round: string): Promise<void> => {
    await remove.udn(store, `a/${round}`);
    await remove.udn(store, `b/${round}`);
    await remove.nad(store, `a/other-${round}`);
    await store.delete(clusterNetworkConnects, round);
    await store.delete(egressIPs, round);
  };
  let first: readonly string[] | undefined;
  for (let turn = 0; turn <= TURNS; turn += 1) {
    const round = `round${turn}`;
    {
      await using before = startManager(store);
      await before.settled();
      await fill(round);
      await before.settled();
    }
    first ??= await given(store, round);
    expect(await given(store, round), `turn ${turn}`).toEqual(first);
    await using running = startManager(store);
    for (let count = 0; count < turn; count += 1) await nextTurn();
    await clear(round);
    await running.settled();
    await fill('again');
    await running.settled();
    expect(await given(store, 'again'), `turn ${turn}`).toEqual(first);
    await clear('again');
    await running.settled();
  }
  // Three ids of networks, of the connection a key and subnets, and a mark.
  expect(first).toHaveLength(6);
});
