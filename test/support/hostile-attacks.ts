/** What pods and host processes try with packets; each is what `lab-frames` sends. */
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { marker, type Send } from '../../src/lab/frames.ts';
import {
  AGENTS,
  FAR_SERVICE,
  PLAIN_SERVICE,
  PORT,
  TUNNEL_SERVICE,
  type HostileLab,
} from './hostile-lab.ts';
import { nodeAddresses } from './matrix-tenants.ts';

/** Port of Geneve, and the other node's address there. */
const TUNNEL_PORT = 6081;
const [NODE] = nodeAddresses('n2');
/** Namespace of the attackers' own node. */
const HOST = 'n1';

/** More than fits into a frame of a pod's network: the datagram around it goes in pieces. */
const IN_PIECES = 1340;

/** From pods to the tunnels' port of another node, into networks there, and of a host outside; last the same from a process of the host, which is to arrive. */
export async function tunnelsFromPods(lab: HostileLab): Promise<readonly Send[]> {
  const sends: Send[] = [];
  const attackers = (['plain/attacker', 'blue/attacker'] as const).map(
    (key) => [key, lab.on(key).namespace] as const,
  );
  const [, plain = ''] = attackers[0] ?? [];
  for (const victim of ['plain/far', 'green/far', 'red/far'] as const)
    for (const inside of lab.on(victim).addresses) {
      const add = async (
        who: string,
        from: string,
        { to = NODE, port = TUNNEL_PORT, size = 0, wanted }: Tunnel = {},
      ): Promise<void> => {
        const id = lab.id(`${who} by a tunnel to ${victim} ${inside}`);
        const payload = await lab.inTunnel(id, victim, inside, size);
        const datagram = { to, port, payload };
        sends.push({ id, from, datagram, ...(wanted === undefined ? {} : { wanted }) });
      };
      for (const [who, from] of attackers) {
        await add(who, from);
        await add(`${who}, in pieces,`, from, { size: IN_PIECES });
      }
      await add('a service', plain, { to: TUNNEL_SERVICE[0], port: PORT });
      await add('the host', HOST, { wanted: lab.on(victim).namespace });
    }
  for (const to of [OUTSIDE.v4, OUTSIDE.v6]) {
    const port = TUNNEL_PORT;
    for (const [who, from] of attackers) {
      sends.push(plainly(lab, who, from, to, { port }));
      sends.push(plainly(lab, `${who}, in pieces,`, from, to, { port, size: IN_PIECES * 2 }));
      // Without VRFs primary networks reach nothing outside in local gateway mode.
      if (who !== 'blue/attacker' || (await lab.reachesOutside('blue')))
        sends.push(plainly(lab, who, from, to, { wanted: 'ext' }));
    }
    sends.push(plainly(lab, 'the host', HOST, to, { port, wanted: 'ext' }));
  }
  return sends;
}

interface Tunnel {
  readonly to?: string;
  readonly port?: number;
  readonly size?: number;
  readonly wanted?: string;
}

/** From pods on the host's network; what they send in tunnels of OVN is to arrive. */
export async function tunnelsFromHostPods(lab: HostileLab): Promise<readonly Send[]> {
  const sends: Send[] = [];
  const inside = lab.on('red/far').addresses[0] ?? '';
  for (const agent of ['plain/agent', 'green/agent'] as const) {
    const cgroup = await lab.cgroupOf(agent);
    const id = lab.id(`${agent} by a tunnel to red/far ${inside}`);
    const payload = await lab.inTunnel(id, 'red/far', inside);
    sends.push({ id, from: HOST, cgroup, datagram: { to: NODE, port: TUNNEL_PORT, payload } });
    const wanted = lab.on('plain/far').namespace;
    for (const to of [...lab.on('plain/far').addresses, ...FAR_SERVICE])
      sends.push(plainly(lab, agent, HOST, to, { cgroup, wanted }));
  }
  return sends;
}

/** Frames to the host's port on the default network: it is to forward none of them to a pod. */
export async function pastTheRouter(lab: HostileLab): Promise<readonly Send[]> {
  const device = 'ovn-k8s-mp0';
  const mac = await lab.portMac(device);
  const sends = (
    ['plain/beside', 'plain/far', 'guarded/beside', 'green/beside', 'green/far'] as const
  ).flatMap((victim) =>
    lab
      .onDefault(victim)
      .addresses.map((to) => lab.toPort('plain/attacker', 'eth0', { device, mac, to })),
  );
  return [...sends, ...byTheRouter(lab)];
}

/** Frames to the host's port on a primary network: for a service and a pod of the default network, for its own pods, and for what is outside. */
export async function pastTheRouterOfANetwork(lab: HostileLab): Promise<readonly Send[]> {
  const device = await lab.portOf('blue');
  const mac = await lab.portMac(device);
  const targets = [
    ...PLAIN_SERVICE,
    ...lab.on('plain/beside').addresses,
    ...lab.on('blue/far').addresses,
    OUTSIDE.v4,
    OUTSIDE.v6,
  ];
  const sends = targets.map((to) => lab.toPort('blue/attacker', 'ovn-udn1', { device, mac, to }));
  return [...sends, ...byTheRouter(lab)];
}

/** Out of the node with a pod's own address, by the host's port on the default network. */
export async function outWithOwnAddress(lab: HostileLab): Promise<readonly Send[]> {
  const device = 'ovn-k8s-mp0';
  const mac = await lab.portMac(device);
  const sends = [OUTSIDE.v4, OUTSIDE.v6].map((to) =>
    lab.toPort('plain/attacker', 'eth0', { device, mac, to }),
  );
  return [...sends, ...byTheRouter(lab)];
}

/** Processes of pods on the host's network that bind to the devices of blue's network: those of blue's own get to its pod, and the host's. */
export async function boundToDevices(lab: HostileLab): Promise<readonly Send[]> {
  const port = await lab.portOf('blue');
  const vrf = /master (\S+)/.exec(await lab.onNode('n1', 'ip', '-o', 'link', 'show', port))?.[1];
  const wanted = lab.on('blue/attacker').namespace;
  const sends: Send[] = [];
  for (const device of [vrf ?? '', port])
    for (const to of lab.on('blue/attacker').addresses) {
      sends.push(plainly(lab, 'the host', HOST, to, { device, wanted }));
      for (const agent of AGENTS) {
        const cgroup = await lab.cgroupOf(agent);
        const may = agent === 'blue/agent' ? { wanted } : {};
        sends.push(plainly(lab, agent, HOST, to, { device, cgroup, ...may }));
      }
    }
  return sends;
}

/** What pods may do: reach each other by their router, and what is outside. */
const byTheRouter = (lab: HostileLab): readonly Send[] => {
  const { namespace } = lab.on('plain/attacker');
  const beside = lab.on('plain/beside');
  return [
    ...beside.addresses.map((to) =>
      plainly(lab, 'plain/attacker', namespace, to, { wanted: beside.namespace }),
    ),
    ...[OUTSIDE.v4, OUTSIDE.v6].map((to) =>
      plainly(lab, 'plain/attacker', namespace, to, { wanted: 'ext' }),
    ),
  ];
};

interface Plain {
  readonly port?: number;
  readonly size?: number;
  readonly device?: string;
  readonly cgroup?: string;
  readonly wanted?: string;
}

/** UDP of a program that needs no capability. `size`: bytes more. */
function plainly(
  lab: HostileLab,
  who: string,
  from: string,
  to: string,
  { port = PORT, size = 0, device, cgroup, wanted }: Plain = {},
): Send {
  const id = lab.id(`${who} to ${to} ${port} ${device ?? ''}`.trim());
  const payload = Buffer.concat([marker(id), Buffer.alloc(size)]).toString('hex');
  return {
    id,
    from,
    ...(cgroup === undefined ? {} : { cgroup }),
    ...(wanted === undefined ? {} : { wanted }),
    datagram: { to, port, payload, ...(device === undefined ? {} : { device }) },
  };
}
