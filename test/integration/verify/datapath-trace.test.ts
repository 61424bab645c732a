/** Answers of a real ovs-vswitchd to `ofproto/trace`, of packets that connection tracking takes in another bridge than the one that they came by. */
import { expect, test } from 'vitest';
import { readDatapathTrace } from '../../../src/verify/witnesses/traces.ts';
import { Vswitchd } from '../../support/host/vswitchd.ts';

const bridge = (name: string): string[] =>
  `-- add-br ${name} -- set Bridge ${name} datapath_type=dummy protocols=OpenFlow10,OpenFlow13,OpenFlow15`.split(
    ' ',
  );
const port = (of: string, name: string, number: number, more: string): string[] =>
  `-- add-port ${of} ${name} -- set Interface ${name} ofport_request=${number} ${more}`.split(' ');

test('each output is of the bridge whose flow sends it there', async () => {
  await using vswitchd = await Vswitchd.start();
  await vswitchd.vsctl(
    ...bridge('br-int'),
    ...bridge('breth0'),
    ...port('br-int', 'pod', 7, 'type=dummy'),
    ...port('br-int', 'other', 8, 'type=dummy'),
    ...port('breth0', 'eth0', 1, 'type=dummy'),
    ...port('br-int', 'in', 3, 'type=patch options:peer=out'),
    ...port('breth0', 'out', 2, 'type=patch options:peer=in'),
  );
  const add = (of: string, flow: string): Promise<string> => vswitchd.ofctlOn(of, 'add-flow', flow);
  await add('br-int', 'table=0,priority=100,ip,in_port=7,actions=ct(table=9,zone=5)');
  await add('br-int', 'table=9,priority=100,ip,actions=output:8,output:3');
  await add('breth0', 'table=0,priority=100,ip,in_port=2,actions=ct(commit,table=8,zone=64000)');
  await add('breth0', 'table=8,priority=100,ip,actions=output:1');
  const packet =
    'tcp,in_port=7,dl_src=0a:58:0a:14:00:03,dl_dst=0a:58:0a:14:00:01,nw_src=10.20.0.3,nw_dst=10.80.0.3,nw_ttl=64,tp_src=40000,tp_dst=80';
  const text = await vswitchd.trace('br-int', packet);
  const outputs = readDatapathTrace(text).outputs.map((one) => `${one.bridge} ${one.port}`);
  expect(outputs, text).toEqual(['br-int 8', 'br-int 3', 'breth0 1']);
});
