/** Objects and settings that the tests of this room share. */
import type { ClusterAddressing } from '../../../src/api/nad/network-config.ts';
import type { NetworkObject } from '../../../src/api/nad/network-spec.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { formatFieldError } from '../../../src/api/validation/field-errors.ts';
import { validateObject } from '../../../src/api/validation/validate.ts';

/** Dual-stack, with the defaults of reference/api.md §12 and a masquerade subnet that has room for networks. */
export const settings: ClusterAddressing = {
  clusterSubnets: [{ cidr: '10.244.0.0/16' }, { cidr: 'fd00:10:244::/48' }],
  serviceSubnets: ['172.16.1.0/24'],
  joinSubnets: { v4: '100.64.0.0/16', v6: 'fd98::/64' },
  udnJoinSubnets: { v4: '100.65.0.0/16', v6: 'fd99::/64' },
  transitSubnets: { v4: '100.88.0.0/16', v6: 'fd97::/64' },
  masqueradeSubnets: { v4: '169.254.0.0/17', v6: 'fd69::/112' },
  mtu: 1400,
};

export const udn = (spec: object, metadata: object = {}): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { name: 'net', namespace: 'blue', ...metadata },
  spec,
});

export const cudn = (spec: object, metadata: object = {}): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name: 'green', ...metadata },
  spec: { namespaceSelector: {}, ...spec },
});

export const layer3 = (config: object): object => udn({ topology: 'Layer3', layer3: config });
export const layer2 = (config: object): object => udn({ topology: 'Layer2', layer2: config });
export const localnet = (config: object): object =>
  cudn({
    network: {
      topology: 'Localnet',
      localnet: { role: 'Secondary', physicalNetworkName: 'tenantblue', ...config },
    },
  });

/** Errors of an object, as the API server words them; empty when it is valid. */
export function problemsOf(object: unknown, old?: unknown): string[] {
  const result = validateObject(object, old);
  return result.kind === 'invalid' ? result.errors.map(formatFieldError) : [];
}

/** The object as stored; the test fails when it is not valid. */
export function valid(object: unknown): KubeObject {
  const result = validateObject(object);
  if (result.kind !== 'valid') throw new Error(JSON.stringify(result));
  return result.object;
}

export const validNetwork = (object: unknown): NetworkObject => valid(object) as NetworkObject;
