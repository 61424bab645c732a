/**
 * The port of tunnels belongs to the host's kernel: what a pod sends there with an address of its node is taken for what the node says, and goes
 * into any network. What leaves by the external bridge alone is dropped there (bridge-flows-uplink.ts).
 */
import { ONE } from '../../desired/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import { PODS_CGROUP } from '../cgroup-names.ts';
import { MANAGEMENT_DEVICES } from '../names.ts';
import { CLUSTER, NftRows } from '../nft-rows.ts';
import { GENEVE_PORT, INTO_OVN_MARK, PRIORITY_FILTER, PRIORITY_MASQUERADE } from '../numbers.ts';
import { FROM_PODS } from './management-port-forward.ts';

const TO_TUNNEL = `udp dport ${GENEVE_PORT}`;
/** Where a service led a packet. */
const LED = 'ct status dnat';

export const tunnelChains: Feature<ZoneFacts> = {
  name: 'nft/tunnels',
  over: () => ONE,
  rules: {
    'from-networks': {
      text: 'Nothing from a network gets to the port of tunnels, of this node or of any other address, and no service leads there.',
      source: 'RFC 8926 §6.1',
    },
    'from-host-pods': {
      text: "Nor do processes of pods on the host's network send there. Needs cgroup v2.",
      source: 'RFC 8926 §6.1',
    },
    'into-networks': {
      text: "What the host sends into a network has a mark, which stays with it in its tunnel: by the process's socket alone a packet of a pod in a tunnel is one that the pod sent to the tunnels' port.",
      source: 'linux/net/core/skbuff.c, skb_scrub_packet',
    },
  },
  claims: [],
  build(_facts, _args, out) {
    const networks = new NftRows(out, CLUSTER, 'from-networks');
    for (const hook of ['forward', 'input'] as const) {
      const name = `tunnel-${hook}`;
      networks.chain({ name, type: 'filter', hook, priority: PRIORITY_FILTER });
      networks.rules(name, ...[...FROM_PODS, LED].map((from) => `${from} ${TO_TUNNEL} drop`));
    }
    const pods = new NftRows(out, CLUSTER, 'from-host-pods');
    const output = 'tunnel-output';
    pods.chain({ name: output, type: 'filter', hook: 'output', priority: PRIORITY_FILTER });
    const text = `${TO_TUNNEL} meta mark != ${Number(INTO_OVN_MARK)} socket cgroupv2 level 2 "${PODS_CGROUP}" drop`;
    pods.rule(text, { chain: output, text, order: 0, cgroup: PODS_CGROUP });
    const into = new NftRows(out, CLUSTER, 'into-networks');
    const mark = 'mgmtport-mark';
    into.chain({ name: mark, type: 'filter', hook: 'postrouting', priority: PRIORITY_MASQUERADE });
    into.rules(mark, `oifname "${MANAGEMENT_DEVICES}" meta mark set ${INTO_OVN_MARK}`);
  },
};
