import { switchTunnelKey } from '../../../src/allocators/tunnel-keys.ts';
import { describe, expect, test } from 'vitest';
import {
  ACL_ADMIN_POLICY,
  ACL_CONNECT_DROP,
  ACL_CONNECT_SERVICE,
  ACL_DEFAULT_ALLOW,
  ACL_DEFAULT_DENY,
  ACL_MULTICAST_ALLOW,
  ACL_MULTICAST_DENY,
  ACL_POD_SERVERS_DROP,
  ACL_POD_SERVERS_PASS,
  ADMIN_RULES,
  LAYER2_HOST_PORT,
  LAYER2_ROUTER_PORT,
  POLICY_CONNECT,
  POLICY_NO_REROUTE,
  POLICY_NODE_ADDRESS,
  POLICY_SIBLING,
  TIER_ADMIN_POLICY,
  TIER_BASELINE_POLICY,
  TIER_ISOLATION,
  TIER_POLICY,
  transitRouterGatewayPort,
} from '../../../src/topology/numbers.ts';

/** Highest key of a port that a row can ask for, and the keys that pods are given (reference/topology.md §2). */
const HIGHEST_PORT_KEY = 32767;
const POD_KEYS = { first: 1, firstOnPrimary: 10, last: 32766 };

describe('tunnel keys', () => {
  test('of switches are the same in every zone: base and network id', () => {
    expect(switchTunnelKey(1)).toBe(16711684);
  });

  test("of a Layer2 switch's own ports are none that a pod gets", () => {
    expect(LAYER2_ROUTER_PORT).toBeGreaterThan(POD_KEYS.last);
    expect(LAYER2_ROUTER_PORT).toBeLessThanOrEqual(HIGHEST_PORT_KEY);
    expect(LAYER2_HOST_PORT).toBeLessThan(POD_KEYS.firstOnPrimary);
  });

  test('of ports to gateway routers are one per node', () => {
    expect(transitRouterGatewayPort(2)).toBe(12);
    expect(transitRouterGatewayPort(3)).not.toBe(transitRouterGatewayPort(2));
  });
});

describe('what comes before what', () => {
  test('isolation, policies of administrators, those of namespaces, the baseline', () => {
    const tiers = [TIER_ISOLATION, TIER_ADMIN_POLICY, TIER_POLICY, TIER_BASELINE_POLICY];
    expect(tiers).toEqual([0, 1, 2, 3]);
  });

  test('what lets through before what drops it', () => {
    expect(ACL_DEFAULT_ALLOW).toBeGreaterThan(ACL_DEFAULT_DENY);
    expect(ACL_MULTICAST_ALLOW).toBeGreaterThan(ACL_MULTICAST_DENY);
    expect(ACL_POD_SERVERS_PASS).toBeGreaterThan(ACL_POD_SERVERS_DROP);
    expect(ACL_CONNECT_SERVICE).toBeGreaterThan(ACL_CONNECT_DROP);
  });

  test('a namespace that asks for multicast does not let its pods answer DHCP', () => {
    expect(ACL_POD_SERVERS_DROP).toBeGreaterThan(ACL_MULTICAST_ALLOW);
  });

  test('rules of an administrators’ policy have priorities of their own', () => {
    const [highestPriority, baseline, rulesOfBaseline] = [1000, 1130, 100];
    const lastOf = (priority: number, rules: number): number =>
      ACL_ADMIN_POLICY - priority * ADMIN_RULES - (rules - 1);
    expect(lastOf(highestPriority, ADMIN_RULES)).toBeGreaterThan(
      ACL_ADMIN_POLICY - baseline * ADMIN_RULES,
    );
    expect(lastOf(baseline, rulesOfBaseline)).toBeGreaterThan(ACL_DEFAULT_ALLOW);
  });

  test('the way to a sibling before that over a connection, and both before what keeps or leaves a way', () => {
    const order = [POLICY_SIBLING, POLICY_CONNECT, POLICY_NODE_ADDRESS, POLICY_NO_REROUTE];
    expect(order.toSorted((a, b) => b - a)).toEqual(order);
  });
});
