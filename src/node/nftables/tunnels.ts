/**
 * The port of tunnels belongs to the host's kernel: what a pod sends there with an address of its node is taken for what the node says, and goes
 * into any network. What leaves by the external bridge alone is dropped there (bridge-flows-uplink.ts). From outside the port is for nodes.
 * There is one encapsulation: remote chassis name no other one (interconnect/chassis.ts), so ovn-controller opens no other port.
 */
import { familyOf } from '../../allocators/addresses.ts';
import { ONE } from '../../facts/keys.ts';
import { feature, type Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { PODS_CGROUP } from './cgroup-names.ts';
import { MANAGEMENT_DEVICES } from '../names.ts';
import { ipWord, NftRows } from './nft-rows.ts';
import { ofFamily, type ChainName } from './ruleset.ts';
import { GENEVE_PORT, INTO_OVN_MARK } from '../numbers.ts';
import { plainAddress } from '../plain-address.ts';
import { FROM_PODS } from './management-port-forward.ts';
import { SETTINGS } from '../../desired/rows.ts';

const TO_TUNNEL = `udp dport ${GENEVE_PORT}`;
/** Where a service led a packet. */
const LED = 'ct status dnat';
/** Whoever may send to this node's port of tunnels: other nodes, by the ends of their tunnels. */
const PEERS = 'tunnel-peers';
/** Chain of what comes to the port; its last rule counts strangers. */
export const TUNNEL_SOURCES = 'tunnel-sources';
/** After all rules of a chain. */
const LAST = 1_000_000;
/** Tunnels may be in a family that networks don't have. */
const FAMILIES = ['v4', 'v6'] as const;

export const tunnelChains: Feature<ZoneFacts> = {
  name: 'nft/tunnels',
  over: () => ONE,
  objects: () => [SETTINGS],
  rules: {
    'from-networks': {
      text: 'Nothing from a network gets to the port of tunnels, of this node or of any other address, and no service leads there.',
      source: 'RFC 8926 §6.1',
    },
    'from-host-pods': {
      text: "Nor do processes of pods on the host's network send there. Needs cgroup v2.",
      source: 'RFC 8926 §6.1',
    },
    'from-nodes': {
      text: 'To the port of tunnels of this node send other nodes alone, by the addresses that their tunnels have, and what --tunnel-sources names. Others are dropped and counted.',
      source: 'RFC 8926 §6.1',
    },
    'into-networks': {
      text: "What the host sends into a network has a mark, which stays with it in its tunnel: by the process's socket alone a packet of a pod in a tunnel is one that the pod sent to the tunnels' port.",
      source: 'linux/net/core/skbuff.c, skb_scrub_packet',
    },
  },
  claims: [],
  build({ settings }, _args, out) {
    const networks = new NftRows(out, SETTINGS, 'from-networks');
    for (const hook of ['forward', 'input'] as const) {
      const name = `tunnel-${hook}` as const;
      networks.chain(name);
      const rules = [...FROM_PODS, LED].map((from) => `${from} ${TO_TUNNEL} drop`);
      networks.rules(name, ...rules);
      if (hook === 'input') addSources(new NftRows(out, SETTINGS, 'from-nodes'), name, settings);
    }
    const pods = new NftRows(out, SETTINGS, 'from-host-pods');
    const output = 'tunnel-output';
    pods.chain(output);
    const text = `${TO_TUNNEL} meta mark != ${Number(INTO_OVN_MARK)} socket cgroupv2 level 2 "${PODS_CGROUP}" drop`;
    pods.rule(text, { chain: output, text, order: 0, cgroup: PODS_CGROUP });
    const into = new NftRows(out, SETTINGS, 'into-networks');
    const mark = 'mgmtport-mark';
    into.chain(mark);
    into.rules(mark, `oifname "${MANAGEMENT_DEVICES}" meta mark set ${INTO_OVN_MARK}`);
  },
};

/**
 * The host's own stack has put fragments together before this chain sees them (conntrack is in use), and IPv6 extension headers are behind it.
 * A remote chassis is written from the same facts: who is missing in the sets has no tunnel here that could be cut.
 */
function addSources(rows: NftRows, input: ChainName, { tunnelSources }: ClusterSettings): void {
  rows.chain(TUNNEL_SOURCES);
  for (const family of FAMILIES) rows.set(PEERS, family);
  if (tunnelSources === 'any') return;
  const text = `${TO_TUNNEL} jump ${TUNNEL_SOURCES}`;
  rows.rule(text, { chain: input, text, order: LAST });
  rows.rules(
    TUNNEL_SOURCES,
    ...FAMILIES.map((family) => `${ipWord(family)} saddr @${ofFamily(PEERS, family)} accept`),
    ...tunnelSources.map((range) => `${ipWord(familyOf(range))} saddr ${range} accept`),
    'counter drop',
  );
}

export const tunnelPeers = feature({
  name: 'nft/tunnel-peer',
  over: ({ remoteNodes }: ZoneFacts) => remoteNodes,
  objects: (_facts, [name]) => [`Node ${name}`],
  rules: {
    'from-nodes': {
      text: 'The ends of the tunnels of another node may send to the port of tunnels here.',
      source: 'RFC 8926 §6.1',
    },
  },
  claims: [],
  build({ remoteNodes }, [name], out) {
    const rows = new NftRows(out, `Node ${name}`, 'from-nodes');
    const ends = (remoteNodes.part(name, 'encapIps') ?? []).map(plainAddress);
    for (const element of new Set(ends))
      if (element !== undefined) rows.element({ set: ofFamily(PEERS, familyOf(element)), element });
  },
});
