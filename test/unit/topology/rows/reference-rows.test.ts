import { describe, expect, test } from 'vitest';
import { MARK, type FoundRow } from '../../../../src/desired/rows.ts';
import {
  isReferenceRow,
  networkOfReferenceRow,
  objectsOfReferenceRow,
} from '../../../../src/topology/rows/reference-rows.ts';

const row = (ids: Readonly<Record<string, string>>, type?: string): FoundRow =>
  ({
    column: (name: string) =>
      name === 'external_ids' ? new Map(Object.entries(ids)) : name === 'type' ? type : undefined,
  }) as unknown as FoundRow;

describe('a row that an ovn-kubernetes left', () => {
  test('has ids as it gives them', () => {
    expect(isReferenceRow(row({ 'k8s.ovn.org/id': 'x' }), 'ACL')).toBe(true);
    expect(isReferenceRow(row({ 'k8s-cluster-router': 'yes' }), 'Logical_Router')).toBe(true);
    expect(isReferenceRow(row({ 'ic-node': 'n2' }), 'Logical_Router_Static_Route')).toBe(true);
  });

  test('or is a port of a pod of the default network, or of another node on a transit switch', () => {
    const pod = { pod: 'true', namespace: 'blue' };
    expect(isReferenceRow(row(pod), 'Logical_Switch_Port')).toBe(true);
    expect(isReferenceRow(row({ pod: 'true' }), 'Logical_Switch_Port')).toBe(false);
    expect(isReferenceRow(row({ node: 'n2' }, 'remote'), 'Logical_Switch_Port')).toBe(true);
    expect(isReferenceRow(row({ node: 'n2' }, 'router'), 'Logical_Switch_Port')).toBe(false);
    expect(isReferenceRow(row({ node: 'n2' }, 'remote'), 'Logical_Router_Port')).toBe(false);
  });

  test('or is one of external routes, which have none', () => {
    const bare = (columns: Readonly<Record<string, unknown>>): FoundRow =>
      ({ column: (name: string) => columns[name] }) as unknown as FoundRow;
    const symmetric = new Map([['ecmp_symmetric_reply', 'true']]);
    const route = { policy: 'src-ip', output_port: 'rtoe-GR_n1', options: symmetric };
    const isRoute = (more: object): boolean =>
      isReferenceRow(bare({ ...route, ...more }), 'Logical_Router_Static_Route');
    expect(isRoute({})).toBe(true);
    expect(isRoute({ output_port: 'exgw-rtoe-GR_n1' })).toBe(true);
    expect(isRoute({ output_port: 'mine' })).toBe(false);
    expect(isRoute({ options: new Map() })).toBe(false);
    expect(isReferenceRow(bare({ logical_port: 'rtoe-GR_n1' }), 'BFD')).toBe(true);
    expect(isReferenceRow(bare({ logical_port: 'mine' }), 'BFD')).toBe(false);
    const policy = { priority: 501, match: 'inport == "rtos-n1" && ip4.src == $a1' };
    const isPolicy = (more: object): boolean =>
      isReferenceRow(bare({ ...policy, ...more }), 'Logical_Router_Policy');
    expect(isPolicy({})).toBe(true);
    expect(isPolicy({ priority: 500 })).toBe(false);
    expect(isPolicy({ match: 'ip4' })).toBe(false);
  });

  test('is none with our mark, and none without any of these ids', () => {
    expect(isReferenceRow(row({ 'k8s.ovn.org/id': 'x', [MARK]: 'Node n1' }), 'ACL')).toBe(false);
    expect(isReferenceRow(row({ owner: 'somebody' }), 'ACL')).toBe(false);
    expect(isReferenceRow(row({}), 'ACL')).toBe(false);
  });

  test('says its network by name or by the controller that owns it', () => {
    expect(networkOfReferenceRow(row({ 'k8s.ovn.org/network': 'blue_blue' }))).toBe('blue_blue');
    expect(
      networkOfReferenceRow(
        row({ 'k8s.ovn.org/owner-controller': 'blue_blue-network-controller' }),
      ),
    ).toBe('blue_blue');
    expect(networkOfReferenceRow(row({}))).toBeUndefined();
  });

  test('says of which EgressIP it is; what is there for all pods is of none', () => {
    const owned = (name: string): FoundRow =>
      row({ 'k8s.ovn.org/owner-type': 'EgressIP', 'k8s.ovn.org/name': name });
    const objectsOf = (name: string): readonly string[] =>
      objectsOfReferenceRow(owned(name), 'Logical_Router_Policy');
    expect(objectsOf('out_blue/web')).toEqual(['EgressIP out']);
    expect(objectsOf('EIP-No-Reroute-Pod-To-Pod')).toEqual([]);
  });
});
