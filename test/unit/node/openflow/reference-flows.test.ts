import { describe, expect, test } from 'vitest';
import { flowKey } from '../../../../src/node/openflow/flow-rows.ts';
import { parseFlow, planFlows, type FoundFlow } from '../../../../src/node/openflow/flow-plan.ts';
import { isReferenceFlow } from '../../../../src/node/openflow/reference-flows.ts';

const flowOf = (line: string): FoundFlow =>
  parseFlow(line) ?? expect.unreachable(`no flow: ${line}`);

/** reference/node.md §4.6, with cookies that are hashes of services. */
const LEFT = [
  ' cookie=0xfb1e0c1c87c53dcd, table=0, priority=110,tcp,in_port=1,tp_dst=30080 actions=output:3',
  ' cookie=0xfb1e0c1c87c53dcd, table=0, priority=110,tcp,in_port=3,dl_src=02:42:ac:12:00:03,tp_src=30080 actions=output:1',
  ' cookie=0x32e7a4def8265825, table=0, priority=110,tcp,in_port=1,nw_dst=5.5.5.5,tp_dst=80 actions=output:3',
  ' cookie=0x32e7a4def8265825, table=0, priority=110,icmp,in_port=1,nw_dst=5.5.5.5,icmp_type=3,icmp_code=4 actions=output:3',
  ' cookie=0x32e7a4def8265825, table=0, priority=110,arp,in_port=1,arp_tpa=5.5.5.5,arp_op=1 actions=LOCAL',
  ' cookie=0x623b0151b7bde307, table=0, priority=110,tcp6,in_port=1,tp_dst=30080 actions=ct(commit,table=6,zone=64003,nat(dst=[fc00::3]:8080))',
  ' cookie=0xe745ecf105, table=6, priority=110 actions=LOCAL',
  ' cookie=0x305, table=0, priority=498,arp,in_port=2,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1 actions=drop',
];
const OTHERS = [
  ' cookie=0x77, table=0, priority=110,tcp,in_port=1,tp_dst=30080 actions=drop',
  ' cookie=0x77, table=0, priority=110,tcp,in_port=1,dl_vlan=7,tp_dst=30080 actions=output:3',
  ' cookie=0x77, table=0, priority=111,tcp,in_port=1,tp_dst=30080 actions=output:3',
  ' cookie=0x77, table=0, priority=110,tcp,tp_dst=30080 actions=output:3',
  ' cookie=0x0, table=0, priority=110,tcp,in_port=1,tp_dst=30080 actions=output:3',
];

const left = (lines: readonly string[], isTaken: boolean): readonly string[] => {
  const flows = lines.map(flowOf);
  const { changes } = planFlows(
    'br-ex',
    {
      flows: new Map(flows.map((flow) => [flowKey(flow), flow])),
      noFlood: new Set(),
      numberOf: () => undefined,
      ...(isTaken ? { isTakenOver: isReferenceFlow } : {}),
    },
    [],
  );
  return changes.map(({ command }) => command);
};

describe('flows that an ovn-kubernetes left', () => {
  test('go where it is taken over, and stay otherwise', () => {
    expect(left(LEFT, false)).toEqual([]);
    const commands = left(LEFT, true);
    expect(commands).toHaveLength(LEFT.length);
    for (const command of commands) expect(command).toContain('delete_strict cookie=');
  });

  test('are told from those of others', () => {
    expect(left(OTHERS, true)).toEqual([]);
  });
});
