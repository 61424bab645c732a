/**
 * Flows of the external bridge that an ovn-kubernetes wrote and that no cookie of ours tells of. Those of services have a hash of the service as a cookie:
 * of one that is gone it can't be worked out, so they are known by their form (reference/node.md §4.6).
 */
import { NO_COOKIE } from './pipeline.ts';
import type { FlowColumns } from './flow-rows.ts';

/** Of flows that hold back announcements until its start is over, and of services of the host's own processes. */
const COOKIES: ReadonlySet<string> = new Set(['0x305', '0xe745ecf105']);
const SERVICE_PRIORITY = 110;
const SERVICE_FIELDS: ReadonlySet<string> = new Set(
  'in_port dl_src nw_dst nw_src ipv6_dst ipv6_src tp_dst tp_src arp_op arp_tpa nd_target icmp_type icmp_code icmpv6_type icmpv6_code'.split(
    ' ',
  ),
);
const PROTOCOL = /^(tcp|udp|sctp|icmp)6?$|^arp$/;
/** To a network, to the uplink, to the host, or to endpoints on the host. */
const SERVICE_ACTIONS =
  /^(?:(?:output:\d+|LOCAL)(?:,(?:output:\d+|LOCAL))*|ct\(.*zone=64003.*|group:\d+)$/;

export function isReferenceFlow(flow: Omit<FlowColumns, 'bridge'>): boolean {
  const { cookie, table, priority, match, actions } = flow;
  if (COOKIES.has(cookie)) return true;
  if (cookie === NO_COOKIE || table !== 0 || priority !== SERVICE_PRIORITY) return false;
  const fields = match.split(',');
  return (
    fields.some((field) => field.startsWith('in_port=')) &&
    fields.some((field) => PROTOCOL.test(field)) &&
    fields.every(
      (field) => PROTOCOL.test(field) || SERVICE_FIELDS.has(field.split('=')[0] ?? ''),
    ) &&
    SERVICE_ACTIONS.test(actions)
  );
}
