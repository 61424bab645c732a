/** What actions of a bridge's flows do to a packet, as ofproto/trace prints them. Pure. */
import type { BridgeStep } from './bridge-trace.ts';
import type { Wire } from './packet-report.ts';

/** How a bridge tracks what it sends out. */
export function connectionIn(steps: readonly BridgeStep[]): Wire['connection'] {
  const found = steps.flatMap(({ actions }) => {
    const text = actions.join(' ');
    const zone = /\bct\(commit[^)]*?\bzone=(\d+)/.exec(text)?.[1];
    const [, set, loaded] =
      /(?:set_field:(0x[0-9a-f]+|\d+)(?:\/0x[0-9a-f]+)?->ct_mark|load:(0x[0-9a-f]+|\d+)->NXM_NX_CT_MARK)/.exec(
        text,
      ) ?? [];
    const mark = set ?? loaded;
    return zone === undefined || mark === undefined ? [] : [{ zone: Number(zone), mark }];
  });
  return found.at(-1);
}

/** The mark that the packet has in the kernel, where a flow gives it one. */
export function markIn(steps: readonly BridgeStep[]): number | undefined {
  const marks = steps.flatMap(({ actions }) =>
    actions.flatMap((action) => {
      const [, set, loaded] =
        /^(?:set_field:(0x[0-9a-f]+|\d+)(?:\/0x[0-9a-f]+)?->pkt_mark|load:(0x[0-9a-f]+|\d+)->NXM_NX_PKT_MARK\[)/.exec(
          action,
        ) ?? [];
      const text = set ?? loaded;
      return text === undefined ? [] : [Number(text)];
    }),
  );
  return marks.at(-1);
}

/** The address that a flow gives it as its source: of IPv6 in brackets, as ovs-actions(7) has it. */
export function sourceIn({ actions }: BridgeStep): string | undefined {
  const [, v6, v4] = /\bnat\(src=(?:\[([^\]]+)\]|([\d.]+))/.exec(actions.join(' ')) ?? [];
  return v6 ?? v4;
}
