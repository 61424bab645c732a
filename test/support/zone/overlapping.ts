/** Networks with one subnet that a connection joins through services: over the external bridge. */
import type { Connect } from '../../../src/model/read/connects.ts';
import { service, slice, withServices } from './services.ts';
import { blue, exampleZone, networkName, yellow, type Zone, type ZoneNetwork } from './zones.ts';

/** With the subnet of `blue`. */
export const twin: ZoneNetwork = {
  ...blue,
  name: networkName('twin_net'),
  id: 2,
  masquerade: { v4: { gatewayRouter: '169.254.0.13', managementPort: '169.254.0.14' } },
  nads: ['twin/net'],
  namespaces: ['twin'],
  object: 'UserDefinedNetwork twin/net',
};

export const sharing: Connect = {
  name: 'sharing',
  isAccepted: true,
  tunnelKey: 16715790,
  ranges: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
  hasPods: false,
  hasServices: true,
  members: [],
  bridged: [1, 2, 3],
};

/** `blue`, its twin and a Layer2 network; each of the first two has a service. */
export const overlappingZone: Zone = withServices(
  {
    ...exampleZone,
    namespaces: [...exampleZone.namespaces, 'twin', 'yellow'],
    networks: [...exampleZone.networks, twin, yellow],
    connects: [sharing],
  },
  service('blue/web', { clusterIPs: ['10.96.1.1'] }),
  slice('blue/web', ['103.103.0.5 on ovn-worker'], { network: 'blue_blue' }),
  service('twin/web', {
    clusterIPs: ['10.96.2.2'],
    ports: [
      { name: 'web', port: 80 },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ],
  }),
  slice('twin/web', ['103.103.0.5 on ovn-worker'], {
    network: 'twin_net',
    ports: [
      { name: 'web', port: 8080 },
      { name: 'dns', port: 5353, protocol: 'UDP' },
    ],
  }),
);
