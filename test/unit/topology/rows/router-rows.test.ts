import { describe, expect, test } from 'vitest';
import type { FoundRow } from '../../../../src/desired/rows.ts';
import { objectIds } from '../../../../src/topology/rows/object-ids.ts';
import {
  addAllowPolicy,
  addIdentifiedRoute,
  addRoute,
  NAT_CLAIM,
  POLICY_CLAIM,
  ROUTE_CLAIM,
} from '../../../../src/topology/rows/router-rows.ts';
import { natKey, policyKey, routeKey } from '../../../../src/topology/rows/row-keys.ts';
import { builtTexts } from '../part-texts.ts';

const row = (columns: Readonly<Record<string, unknown>>): FoundRow =>
  ({ column: (name: string) => columns[name] }) as unknown as FoundRow;
const router = { table: 'Logical_Router', key: 'r' } as Parameters<typeof ROUTE_CLAIM.keyOf>[1];
const ids = objectIds('c', 'T', { name: 'n' });
const externalIds = new Map(Object.entries(ids));

describe('a route', () => {
  test('is on its router, and has no columns that it does not need', () => {
    expect(
      builtTexts((rows) => {
        addRoute(rows, 'r', { prefix: '10.0.0.0/8', nexthop: '1.1.1.1', externalIds: {} });
      }),
    ).toEqual([
      'Logical_Router_Static_Route r 10.0.0.0/8 any - ip_prefix=10.0.0.0/8 nexthop=1.1.1.1 < Logical_Router/r.static_routes',
    ]);
  });

  test('with an object id is known by it, so that its prefix may change', () => {
    expect(
      builtTexts((rows) => {
        addIdentifiedRoute(rows, 'r', {
          prefix: '10.0.0.0/8',
          nexthop: '1.1.1.1',
          externalIds: ids,
        });
      })[0],
    ).toMatch(/^Logical_Router_Static_Route c:T:n /);
  });

  test('that is found has the key of the one that is wanted', () => {
    const found = { ip_prefix: '10.0.0.0/8', nexthop: '1.1.1.1', policy: 'src-ip' };
    expect(ROUTE_CLAIM.keyOf(row(found), router)).toBe(
      routeKey('r', {
        prefix: '10.0.0.0/8',
        nexthop: '1.1.1.1',
        policy: 'src-ip',
        outputPort: undefined,
      }),
    );
    expect(ROUTE_CLAIM.keyOf(row({ ...found, external_ids: externalIds }), router)).toBe('c:T:n');
    expect(ROUTE_CLAIM.keyOf(row(found), undefined)).toBeUndefined();
  });
});

describe('a policy', () => {
  test('with an object id lets traffic pass', () => {
    expect(
      builtTexts((rows) => {
        addAllowPolicy(rows, 'r', { ids, priority: 102, match: 'ip4' });
      })[0],
    ).toMatch(/^Logical_Router_Policy c:T:n ip4 action=allow .* priority=102 < Logical_Router\/r/);
  });

  test('that is found has the key of the one that is wanted', () => {
    const found = { priority: 5, match: 'ip4' };
    expect(POLICY_CLAIM.keyOf(row(found), router)).toBe(policyKey('r', 5, 'ip4'));
    expect(POLICY_CLAIM.keyOf(row({ ...found, external_ids: externalIds }), undefined)).toBe(
      'c:T:n ip4',
    );
  });
});

test('an address translation that is found is told from one that is limited to some addresses', () => {
  const found = { type: 'snat', logical_ip: '10.0.0.1' };
  const identity = { type: 'snat', logicalIp: '10.0.0.1', logicalPort: undefined };
  expect(NAT_CLAIM.keyOf(row(found), router)).toBe(natKey('r', { ...identity, limited: false }));
  expect(NAT_CLAIM.keyOf(row({ ...found, allowed_ext_ips: ['x'] }), router)).toBe(
    natKey('r', { ...identity, limited: true }),
  );
});
