import { describe, expect, test } from 'vitest';
import type { ClusterUserDefinedNetwork } from '../../../src/api/types.ts';
import {
  ALLOCATED,
  apply,
  clusterLayer3,
  conditions,
  CREATED,
  inNamespaces,
  nadLines,
  namespace,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

describe('a ClusterUserDefinedNetwork asks for', () => {
  const asks = (spec: object, network: object): ClusterUserDefinedNetwork => {
    const base = clusterLayer3('green', inNamespaces('blue', 'red'), '10.20.0.0/16/24');
    return {
      ...base,
      spec: { ...base.spec, ...spec, network: { ...base.spec.network, ...network } },
    };
  };
  const notEnabled = (transport: string): string =>
    `TransportAccepted=False RouteAdvertisementsNotEnabled: RouteAdvertisements feature is not enabled but required for ${transport} transport.`;

  test('no overlay: it is allocated, and its transport is not accepted', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), namespace('red'));
    const noOverlay = { outboundSNAT: 'Enabled', routing: 'Managed' };
    await apply(store, asks({}, { transport: 'NoOverlay', noOverlay }));
    await running.settled();
    expect(await conditions(store, 'green')).toEqual([
      ALLOCATED,
      `${CREATED} in following namespaces: [blue, red]`,
      notEnabled('NoOverlay'),
    ]);
  });

  test('EVPN: it has no NAD, and says why once', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), namespace('red'));
    const evpn = { vtep: 'vtep', ipVRF: { vni: 101 } };
    await apply(store, asks({}, { transport: 'EVPN', evpn }));
    await running.settled();
    expect(await nadLines(store)).toEqual([]);
    expect(await conditions(store, 'green')).toEqual([
      'NetworkCreated=False NetworkAttachmentDefinitionSyncError: failed to generate NetworkAttachmentDefinition: failed to render CNI network config: EVPN transport requested but EVPN feature is not enabled',
      notEnabled('EVPN'),
    ]);
  });

  test('an uplink: it is left alone', async () => {
    const store = new MemoryStore();
    await using running = startManager(store);
    await apply(store, namespace('blue'), namespace('red'), asks({ uplinks: ['eth1'] }, {}));
    await running.settled();
    expect(await nadLines(store)).toEqual([]);
    expect(await conditions(store, 'green')).toEqual([
      'NetworkCreated=False NetworkAttachmentDefinitionSyncError: spec.uplinks is set but the Uplink feature is disabled, ignoring this CUDN',
    ]);
  });
});
