/** What the host has once for all networks: its masquerade addresses on the external bridge, and the kernel's own rules (reference/node.md §2.1). */
import {
  asHost,
  FAMILIES,
  familyOf,
  macOf,
  nthAddress,
  nthInterface,
} from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { ONE } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { HostRows } from '../host-rows.ts';
import type { HostSettings } from './host-network.ts';
import { MANAGEMENT_CLAIMS } from './management-port.ts';
import { INTEGRATION_BRIDGE } from '../names.ts';
import { DEFAULT_TABLE, MAIN_TABLE, RULE_DEFAULT, RULE_MAIN, RULE_VRF } from '../numbers.ts';
import { SETTINGS } from '../../desired/rows.ts';

/** The rules that the kernel has from the start, and those of VRFs where there are any. */
export const kernelRules = ({ hasVrfs }: HostSettings): Feature<ZoneFacts> => ({
  name: 'host/kernel-rules',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'kernel-rules': {
      text: "The kernel's own rules are there: without them VRFs, and the host itself, have no routes.",
      source: 'reference/node.md §2.4; ip-rule(8)',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const rows = new HostRows(out, SETTINGS, 'kernel-rules');
    for (const family of FAMILIES) {
      if (hasVrfs && facts.rendered.all().length > 1)
        rows.rule({ family, priority: RULE_VRF, l3mdev: true, isKernels: true });
      rows.rule({ family, priority: RULE_MAIN, table: MAIN_TABLE, isKernels: true });
    }
    // IPv6 has no table "default".
    rows.rule({ family: 'v4', priority: RULE_DEFAULT, table: DEFAULT_TABLE, isKernels: true });
  },
});

/** The bridge that ovn-controller makes: management ports wait for it. */
export const integrationBridge: Feature<ZoneFacts> = {
  name: 'host/integration-bridge',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'integration-bridge': {
      text: 'Management ports are on the bridge of ovn-controller, which makes it.',
      source: 'reference/node.md §2.2',
    },
  },
  claims: MANAGEMENT_CLAIMS,
  build: (_facts, _args, out) =>
    new HostRows(out, SETTINGS, 'integration-bridge').awaitedOpenVswitch(
      'Bridge',
      INTEGRATION_BRIDGE,
    ),
};

export const hostMasquerade: Feature<ZoneFacts> = {
  name: 'host/masquerade',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'host-masquerade': {
      text: 'The host has a masquerade address on the external bridge, by which OVN knows it.',
      source: 'reference/node.md §2.1',
    },
    'ovn-masquerade': {
      text: "OVN's masquerade address and the next hop of services are neighbours on the external bridge with fixed MAC addresses.",
      source: 'reference/node.md §2.1',
    },
    services: {
      text: 'The host reaches service addresses over the external bridge, from its masquerade address.',
      source: 'reference/node.md §2.1',
    },
  },
  claims: [],
  build(facts, _args, out) {
    const gateway = facts.own('gateway');
    if (gateway === undefined) return;
    const { settings } = facts;
    const all = new HostRows(out, SETTINGS);
    const { bridge: dev } = gateway;
    for (const family of clusterFamilies(settings)) {
      const subnet = settings.masqueradeSubnets[family];
      const source = gateway.addresses
        .find((address) => familyOf(address) === family)
        ?.split('/')[0];
      if (subnet === undefined || source === undefined) continue;
      const at = (offset: number): string => nthAddress(subnet, offset);
      const host = at(MASQUERADE_OFFSETS.host);
      const ovn = at(MASQUERADE_OFFSETS.ovn);
      const nextHop = at(MASQUERADE_OFFSETS.dummyNextHop);
      all.by('host-masquerade').address({
        dev,
        address: nthInterface(subnet, MASQUERADE_OFFSETS.host),
        ...(family === 'v6' ? { deprecated: true } : {}),
      });
      for (const address of [ovn, nextHop])
        all.by('ovn-masquerade').neighbour({ dev, address, mac: macOf(address) });
      const common = { family, table: MAIN_TABLE, dev };
      all.by('ovn-masquerade').route({ ...common, dst: asHost(ovn), src: source });
      for (const dst of settings.serviceSubnets.filter((cidr) => familyOf(cidr) === family))
        all.by('services').route({ ...common, dst, via: nextHop, src: host, mtu: settings.mtu });
    }
  },
};
