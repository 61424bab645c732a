/** Counters of flows as `ovs-ofctl dump-flows` prints them, and what two readings differ by. Pure. */

export interface FlowCounter {
  readonly cookie: string;
  readonly table: number;
  /** Priority and match, as they are printed. */
  readonly match: string;
  readonly actions: string;
  readonly packets: number;
  readonly bytes: number;
}

const LINE =
  /^\s*cookie=(0x[0-9a-f]+), duration=[\d.]+s, table=(\d+), n_packets=(\d+), n_bytes=(\d+), (?:(?:idle_age|hard_age|idle_timeout|hard_timeout)=\d+, )*(.*?)\s*actions=(.*)$/;

/** Undefined for a line that is no flow. */
export function flowCounter(line: string): FlowCounter | undefined {
  const [, cookie, table, packets, bytes, match = '', actions = ''] = LINE.exec(line) ?? [];
  return cookie === undefined
    ? undefined
    : {
        cookie,
        table: Number(table),
        match,
        actions,
        packets: Number(packets),
        bytes: Number(bytes),
      };
}

const keyOf = ({ cookie, table, match }: FlowCounter): string => `${table} ${cookie} ${match}`;

/** What counted between two readings. A flow that was made meanwhile, or anew, counted from 0. */
export function countedBetween(
  before: readonly FlowCounter[],
  after: readonly FlowCounter[],
): readonly FlowCounter[] {
  const known = new Map(before.map((flow) => [keyOf(flow), flow]));
  return after.flatMap((flow) => {
    const first = known.get(keyOf(flow));
    const since = first === undefined || first.packets > flow.packets ? undefined : first;
    const packets = flow.packets - (since?.packets ?? 0);
    return packets === 0 ? [] : [{ ...flow, packets, bytes: flow.bytes - (since?.bytes ?? 0) }];
  });
}
