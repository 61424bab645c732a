import { expect, test } from 'vitest';
import { parsePrefix, type Prefix } from '../../../src/allocators/addresses.ts';
import { primaryConflict, type PrimaryNetwork } from '../../../src/api/nad/primary-networks.ts';

const prefix = (text: string): Prefix => {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
};
const network = (
  name: string,
  ownerKind: PrimaryNetwork['ownerKind'],
  subnet: string,
  tenants?: readonly string[],
): PrimaryNetwork => ({
  nad: `blue/${name}`,
  network: `blue_${name}`,
  ownerKind,
  subnets: [prefix(subnet)],
  ...(tenants === undefined
    ? {}
    : {
        namespaceSelector: {
          matchExpressions: [{ key: 'tenant', operator: 'In', values: tenants }],
        },
      }),
});
const [UDN, CUDN] = ['UserDefinedNetwork', 'ClusterUserDefinedNetwork'] as const;

test.each([
  ['UDN beside UDN', network('a', UDN, '10.1.0.0/16'), network('b', UDN, '10.2.0.0/16'), undefined],
  [
    'overlapping',
    network('a', UDN, '10.1.0.0/16'),
    network('b', UDN, '10.1.4.0/24'),
    'OverlappingNetworkSubnets',
  ],
  [
    'CUDN beside UDN',
    network('a', UDN, '10.1.0.0/16'),
    network('b', CUDN, '10.2.0.0/16', ['x']),
    'MixedPrimaryNetworks',
  ],
  [
    'UDN beside CUDN',
    network('a', CUDN, '10.1.0.0/16', ['x']),
    network('b', UDN, '10.2.0.0/16'),
    'MixedPrimaryNetworks',
  ],
  [
    'CUDNs, same selector',
    network('a', CUDN, '10.1.0.0/16', ['x', 'y']),
    network('b', CUDN, '10.2.0.0/16', ['y', 'x']),
    undefined,
  ],
  [
    'CUDNs, other selector',
    network('a', CUDN, '10.1.0.0/16', ['x']),
    network('b', CUDN, '10.2.0.0/16', ['y']),
    'NamespaceSelectorMismatch',
  ],
  [
    'CUDNs, overlapping',
    network('a', CUDN, '10.1.0.0/16', ['x']),
    network('b', CUDN, '10.1.0.0/16', ['x']),
    'OverlappingNetworkSubnets',
  ],
  [
    'beside a NAD made by hand',
    network('a', undefined, '10.1.0.0/16'),
    network('b', UDN, '10.2.0.0/16'),
    'PrimaryNetworkExists',
  ],
  ['itself', network('a', UDN, '10.1.0.0/16'), network('a', UDN, '10.1.0.0/16'), undefined],
])('%s', (_name, existing, wanted, reason) => {
  const conflict = primaryConflict('blue', [existing], wanted);
  expect(conflict?.reason).toBe(reason);
  if (reason !== undefined)
    expect(conflict?.message).toMatch(
      /^primary network already exist in namespace "blue": "blue\/a"/,
    );
});
