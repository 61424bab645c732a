/** Actions of flows, as `ovs-ofctl dump-flows` prints them. */
import { LOCAL, MARK_OF_HOST, portInFlow } from './flow-rows.ts';
import { PAST_FENCE, PAST_PATH_MTU } from './pipeline.ts';

export interface Conntrack {
  readonly commit?: true;
  /** Table to go on in. */
  readonly table?: number;
  readonly zone: number;
  /** `''`: as the connection was translated before. */
  readonly nat?: '' | `src=${string}` | `dst=${string}`;
  readonly mark?: string;
}

export function conntrack({ commit, table, zone, nat, mark }: Conntrack): string {
  const options = [
    ...(commit === undefined ? [] : ['commit']),
    ...(table === undefined ? [] : [`table=${table}`]),
    `zone=${zone}`,
    ...(nat === undefined ? [] : [nat === '' ? 'nat' : `nat(${nat})`]),
    ...(mark === undefined ? [] : [`exec(set_field:${mark}->ct_mark)`]),
  ];
  return `ct(${options.join(',')})`;
}

export const output = (port: string): string => (port === LOCAL ? LOCAL : `output:${port}`);
/** Back by the port that it came by. */
export const BACK = 'IN_PORT';
export const resubmit = (table: number): string => `resubmit(,${table})`;
export const destination = (mac: string): string => `set_field:${mac}->eth_dst`;
export const source = (mac: string): string => `set_field:${mac}->eth_src`;
/**
 * A tunnel to another node asks the host's rules for its way with the mark of what is in it: that of a network stays behind. Open vSwitch's
 * userspace datapath knows routes for packets without a mark alone.
 */
export const MARK_INTO_OVN = `set_field:${portInFlow(MARK_OF_HOST)}->pkt_mark`;
export const NO_MARK = 'set_field:0->pkt_mark';
/** As a switch would: by what it learned of addresses. */
export const NORMAL = 'NORMAL';
export const DROP = 'drop';
export const POP_VLAN = 'pop_vlan';
/** With the flag that a tag is there (OpenFlow 1.3, OFPVID_PRESENT). */
export const pushVlan = (vlan: number): readonly string[] => [
  'push_vlan:0x8100',
  `set_field:${0x1000 + vlan}->vlan_vid`,
];
/** Through the tables once more, past the fence of egress addresses. */
export const PASS_FENCE: readonly string[] = [`load:0x1->${PAST_FENCE.bit}`, resubmit(0)];
/** Through the tables once more, past what is asked about sizes. */
export const PASS_PATH_MTU: readonly string[] = [`load:0x1->${PAST_PATH_MTU.bit}`, resubmit(0)];
