/** Flows of both bridges: what a packet of one network is taken for another one's by, or leaves as. */
import { pairs, text } from '../../../../src/verify/rows.ts';
import { addFlow, deleteFlow, hex } from '../planted-faults/fault.ts';
import {
  BRIDGE,
  isJoined,
  quoted,
  type BridgeFlow,
  type FaultKind,
  type FaultNetwork,
  type RandomFault,
} from './world.ts';
import { idsOf, INT, networkOf, podInterface } from './bindings.ts';

/** Flows of br-int that a packet of one network meets first. */
const integrationFlow: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const keyOf = (network: FaultNetwork): string =>
    text(
      world
        .rows('Datapath_Binding')
        .find((row) => pairs(row, 'external_ids')['name'] === network.podSwitch) ?? {},
      'tunnel_key',
    );
  const pod = world.row(
    'Interface',
    (row) => networkOf(row) === b.name && idsOf(row)['sandbox'] !== undefined,
  );
  const priority = 5000 + world.random.below(1000);
  const match = `table=${10 + world.random.below(5)},priority=${priority},metadata=${keyOf(a)}`;
  const actions = world.random.pick([
    `load:${keyOf(b)}->OXM_OF_METADATA[],resubmit(,16)`,
    `output:${text(pod ?? {}, 'ofport')}`,
    `load:${keyOf(b)}->NXM_NX_TUN_ID[],output:1`,
    `set_field:${keyOf(b)}->metadata,resubmit(,16)`,
    `resubmit(${text(pod ?? {}, 'ofport')},0)`,
  ]);
  if (pod === undefined) return undefined;
  return {
    name: `a flow of br-int: ${match} ${actions}`,
    plant: addFlow(INT, `${match},actions=${actions}`),
    undo: deleteFlow(INT, match),
    checks: ['integration bridge'],
    concerns: [a.name],
    where: new RegExp(`priority ${priority}`),
  };
};

/** What comes by the port of one network's pod taken for another one's. */
const entryFlow: FaultKind = (world) => {
  const pod = podInterface(world);
  const [, b] = world.two(false);
  const key = text(
    world
      .rows('Datapath_Binding')
      .find((row) => pairs(row, 'external_ids')['name'] === b.podSwitch) ?? {},
    'tunnel_key',
  );
  if (pod === undefined || networkOf(pod) === b.name) return undefined;
  const match = `table=0,priority=5999,in_port=${text(pod, 'ofport')}`;
  return {
    name: `what comes by ${idsOf(pod)['iface-id']} is taken for ${b.name}`,
    plant: addFlow(
      INT,
      `${match},actions=load:${key}->OXM_OF_METADATA[],load:1->NXM_NX_REG14[],resubmit(,8)`,
    ),
    undo: deleteFlow(INT, match),
    checks: ['integration bridge'],
    concerns: [b.name],
    where: /priority 5999/,
  };
};

const inPort = ({ match }: BridgeFlow, { patch }: FaultNetwork): boolean =>
  new RegExp(`\\bin_port=${patch}(,|$)`).test(match);
const MASK = /,?ct_state=[^,]+/;
const strictMatch = ({ match }: BridgeFlow): string => match.replaceAll(' ', '');

/** A flow with other actions: the same match, so that it comes in the place of the first. */
const rewritten = (
  flow: BridgeFlow,
  actions: string,
): Pick<RandomFault, 'plant' | 'undo' | 'name'> => {
  const head = flow.line.slice(0, flow.line.indexOf(',actions='));
  return {
    name: `flow ${strictMatch(flow)} ${actions}`,
    plant: `ovs-ofctl -O OpenFlow13 add-flow ${BRIDGE} ${quoted(`${head},actions=${actions}`)}`,
    undo: `ovs-ofctl -O OpenFlow13 add-flow ${BRIDGE} ${quoted(flow.line)}`,
  };
};

const removed = (flow: BridgeFlow): Pick<RandomFault, 'plant' | 'undo' | 'name'> => ({
  name: `flow ${strictMatch(flow)} is gone`,
  plant: `ovs-ofctl -O OpenFlow13 --strict del-flows ${BRIDGE} ${quoted(strictMatch(flow))}`,
  undo: `ovs-ofctl -O OpenFlow13 add-flow ${BRIDGE} ${quoted(flow.line)}`,
});

/** What a network sends with another one's mark or address, or straight to it. */
const outwardFlow: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const flow = world.pick(
    world.flows.filter(
      (one) => one.table === 0 && inPort(one, a) && one.actions.includes('ct_mark'),
    ),
  );
  if (flow === undefined) return undefined;
  const actions = world.random.pick([
    flow.actions.replace(
      /set_field:0x[0-9a-f]+->ct_mark/,
      `set_field:${hex(b.connectionMark)}->ct_mark`,
    ),
    flow.actions.replace(/nat\(src=[\d.]+/, `nat(src=${b.gateway}`),
    `output:${b.patch}`,
    `set_field:${hex(b.packetMark)}->pkt_mark,${flow.actions}`,
  ]);
  return { ...rewritten(flow, actions), checks: ['external bridge'], concerns: [a.name, b.name] };
};

/** The egress address of one network for what another one sends. */
const otherEgress: FaultKind = (world) => {
  const address = world.random.pick(['172.18.0.201', '172.18.0.202']);
  const a = world.pick(
    world.networks.filter(({ name }) => name !== (address.endsWith('1') ? 'red_l2' : 'white_l3')),
  );
  const flow =
    a &&
    world.pick(
      world.flows.filter(
        (one) => one.table === 0 && inPort(one, a) && one.actions.includes('ct_mark'),
      ),
    );
  if (a === undefined || flow === undefined) return undefined;
  return {
    ...rewritten(flow, flow.actions.replace(/nat\(src=[\d.]+/, `nat(src=${address}`)),
    checks: ['external bridge'],
    concerns: [a.object, a.name],
  };
};

/** What is let into one network, led into another one. */
const inwardFlow: FaultKind = (world) => {
  const flow = world.pick(
    world.flows.filter(
      ({ table, actions }) => (table === 1 || table === 2) && /output:\d+$/.test(actions),
    ),
  );
  const from = world.networks.find(({ patch }) => flow?.actions.endsWith(`output:${patch}`));
  const to =
    from && world.pick(world.networks.filter((one) => one !== from && !isJoined(from, one)));
  if (flow === undefined || to === undefined) return undefined;
  return {
    ...rewritten(flow, flow.actions.replace(/output:\d+$/, `output:${to.patch}`)),
    checks: ['external bridge'],
    concerns: [to.name],
  };
};

/** What comes from elsewhere as a network's: with its mark, or for all of its addresses and ports. */
const strangerFlow: FaultKind = (world) => {
  const a = world.random.pick(world.networks);
  const priority = 3000 + world.random.below(500);
  const match = world.random.pick([
    `table=1,priority=${priority},tcp,in_port=1,nw_dst=172.18.0.11,tp_dst=${2000 + world.random.below(1000)}`,
    `table=1,priority=${priority},ip,in_port=1`,
    `table=0,priority=${priority},ip,in_port=LOCAL,nw_dst=${a.subnet}`,
    `table=2,priority=${priority},ip`,
  ]);
  return {
    name: `a flow to ${a.name}: ${match}`,
    plant: addFlow(BRIDGE, `${match},actions=output:${a.patch}`),
    undo: deleteFlow(BRIDGE, match),
    checks: ['external bridge'],
    concerns: [a.object, a.name],
    where: new RegExp(`priority ${priority}`),
  };
};

/** Drops that nothing stands behind: what else a network sends, its host's address at services of the default network. */
const lostDrop: FaultKind = (world) => {
  const a = world.random.pick(world.networks);
  const flow = world.pick(
    world.flows.filter(
      (one) =>
        one.actions === 'drop' &&
        ((inPort(one, a) && one.match.startsWith('priority=60,')) ||
          (one.table === 2 && one.match.includes(`nw_src=${a.host}`))),
    ),
  );
  if (flow === undefined) return undefined;
  return {
    ...removed(flow),
    checks: ['external bridge'],
    concerns: [a.object, a.name],
    where: /flows of/,
  };
};

/** What a pod sends from a tunnel's port of the node would be taken for a tunnel by other nodes, and what comes to that from no node by this one. */
const openTunnels: FaultKind = (world) => {
  const flow = world.pick(
    world.flows.filter(
      ({ table, match, actions }) =>
        actions === 'drop' && table === 0 && match.includes('tp_dst=6081'),
    ),
  );
  if (flow === undefined) return undefined;
  const a = world.networks.find((network) => inPort(flow, network));
  return {
    ...removed(flow),
    checks: ['external bridge'],
    concerns: a === undefined ? [] : [a.object, a.name],
  };
};

/** Another way for a mark: a connection of one network that goes on as another one's. */
const otherMark: FaultKind = (world) => {
  const [a, b] = world.two(false);
  const isPacket = world.random.is(0.5);
  const match = isPacket
    ? `table=2,priority=3007,pkt_mark=${hex(a.packetMark)},ip`
    : `table=1,priority=3007,ct_state=+est+trk,ct_mark=${hex(a.connectionMark)},ip`;
  return {
    name: `${match.replace(MASK, '')} to ${b.name}`,
    plant: addFlow(BRIDGE, `${match},actions=output:${b.patch}`),
    undo: deleteFlow(BRIDGE, match),
    checks: ['external bridge'],
    concerns: [a.name, b.name],
    where: /priority 3007/,
  };
};

/** Flows that go round all others. */
const bridged: FaultKind = (world) => {
  const a = world.random.pick(world.networks);
  const match = `priority=3006,${world.random.pick(['icmp', 'udp', `in_port=${a.patch}`, `ip,in_port=${a.patch}`])}`;
  return {
    name: `${match} is switched`,
    plant: addFlow(BRIDGE, `${match},actions=${world.random.pick(['NORMAL', 'FLOOD', 'ALL'])}`),
    undo: deleteFlow(BRIDGE, match),
    checks: ['external bridge'],
    concerns: match.includes('in_port') ? [a.object, a.name] : [],
    where: /priority 3006/,
  };
};

export const flowFaults: readonly FaultKind[] = [
  integrationFlow,
  integrationFlow,
  entryFlow,
  outwardFlow,
  outwardFlow,
  otherEgress,
  inwardFlow,
  inwardFlow,
  strangerFlow,
  lostDrop,
  openTunnels,
  otherMark,
  bridged,
];
