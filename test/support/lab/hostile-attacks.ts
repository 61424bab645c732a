/** What pods and host processes try with packets; each is what `lab-frames` sends. */
import { familyOf, macOf } from '../../../src/allocators/addresses.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { marker, type Send } from './frames.ts';
import {
  addressBytes,
  ethernet,
  ethertypeOf,
  icmp,
  icmpv6,
  ipv4,
  ipv6,
  PROTOCOL,
  tcp,
  udp,
  vxlan,
} from './frame-bytes.ts';
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

/** From a machine outside that is no node, to the tunnels' port of n2. */
export async function tunnelsFromStrangers(lab: HostileLab): Promise<readonly Send[]> {
  const sends: Send[] = [];
  for (const to of nodeAddresses('n2'))
    for (const victim of ['plain/far', 'green/far', 'red/far'] as const)
      for (const size of [0, IN_PIECES]) {
        const [inside = ''] = lab.on(victim).addresses;
        const id = lab.id(`a stranger by a tunnel to ${victim} over ${to} with ${size} bytes more`);
        const payload = await lab.inTunnel(id, victim, inside, size);
        sends.push({ id, from: 'ext', datagram: { to, port: TUNNEL_PORT, payload } });
      }
  return sends;
}

/** Ports of VXLAN (RFC 7348, and the older one of Linux), of ESP (RFC 3948) and, over TCP, of STT. */
const VXLAN_PORTS = [4789, 8472] as const;
const ESP_PORT = 4500;
const STT_PORT = 7471;
/** Of ESP (RFC 4303): the number of an association, and the first packet of it. */
const ESP_HEADER = Buffer.from([0, 0, 1, 1, 0, 0, 0, 1]);
/** What GRE says that it carries, where that is whole frames. */
const BRIDGED = 0x6558;

/**
 * From pods with raw sockets, by their routers: what filters by port may not see through (extension headers, tiny pieces), other encapsulations,
 * packets in packets, and routes that the sender chooses.
 */
export async function tunnelsByOtherMeans(lab: HostileLab): Promise<readonly Send[]> {
  const sends: Send[] = [];
  const victim = 'green/far';
  const [inside = ''] = lab.on(victim).addresses;
  for (const [key, device] of [
    ['plain/attacker', 'eth0'],
    ['blue/attacker', 'ovn-udn1'],
  ] as const) {
    const { namespace, addresses } = lab.on(key);
    const gateway = macOf((addresses[0] ?? '').replace(/\d+$/, '1'));
    for (const [index, node] of nodeAddresses('n2').entries()) {
      const between = { from: addresses[index] ?? '', to: node };
      const add = (id: string, packet: Buffer): void => {
        const type = ethertypeOf(node);
        const frame = { device, to: gateway, type, packet: packet.toString('hex') };
        sends.push({ id, from: namespace, frame });
      };
      const ip = (next: number, body: Buffer, fragment = 0): Buffer =>
        familyOf(node) === 'v4'
          ? ipv4({ ...between, protocol: next, fragment }, body)
          : ipv6({ ...between, next }, body);
      const id = (what: string): string => lab.id(`${key}, ${what}, to ${node}`);
      const tunnel = async (what: string): Promise<readonly [string, Buffer]> => {
        const name = id(what);
        const payload = Buffer.from(await lab.inTunnel(name, victim, inside), 'hex');
        return [name, udp(between, 40_000, TUNNEL_PORT, payload)];
      };
      const inner = (name: string): Buffer => lab.packet(name, addresses[0] ?? '', inside);
      const framed = (name: string): Buffer =>
        ethernet(macOf(inside), gateway, ethertypeOf(inside), inner(name));

      // Pieces: the first one holds nothing but the header of UDP.
      const [small, whole] = await tunnel('a tiny first piece');
      const pieces = [whole.subarray(0, 8), whole.subarray(8)];
      for (const [number, piece] of pieces.entries()) {
        const name = number === 0 ? id('the tiny first piece itself') : small;
        if (familyOf(node) === 'v4') add(name, ip(PROTOCOL.udp, piece, number === 0 ? 0x2000 : 1));
        else add(name, ip(PROTOCOL.fragment, Buffer.concat([fragmentHeader(number), piece])));
      }
      if (familyOf(node) === 'v6') {
        const padding = Buffer.from([PROTOCOL.udp, 0, 1, 4, 0, 0, 0, 0]);
        for (const [what, next] of [
          ['hop-by-hop options', PROTOCOL.hopByHop],
          ['destination options', PROTOCOL.destination],
        ] as const) {
          const [name, body] = await tunnel(what);
          add(name, ip(next, Buffer.concat([padding, body])));
        }
        const [atomic, body] = await tunnel('a fragment that is all');
        const alone = Buffer.from([PROTOCOL.udp, 0, 0, 0, 0, 0, 0, 7]);
        add(atomic, ip(PROTOCOL.fragment, Buffer.concat([alone, body])));
      }
      for (const port of VXLAN_PORTS) {
        const vx = id(`VXLAN by ${port}`);
        add(vx, ip(PROTOCOL.udp, udp(between, 40_000, port, vxlan(1, framed(vx)))));
      }
      const wrapped = id('ESP in UDP');
      const inUdp = Buffer.concat([ESP_HEADER, inner(wrapped)]);
      add(wrapped, ip(PROTOCOL.udp, udp(between, 40_000, ESP_PORT, inUdp)));
      const stt = id('STT');
      add(stt, ip(PROTOCOL.tcp, tcp(between, 40_000, STT_PORT, 0x18, framed(stt))));
      // Connections without ports are told apart by their addresses alone, which of two networks of a node are the same: what n2
      // answers to the second one goes to the first. So each sends another protocol (docs/security.md, "What is not held").
      if (key === 'plain/attacker') {
        const ipip = id('IP in IP');
        add(ipip, ip(familyOf(inside) === 'v4' ? PROTOCOL.ipv4 : PROTOCOL.ipv6, inner(ipip)));
        const esp = id('ESP');
        add(esp, ip(PROTOCOL.esp, Buffer.concat([ESP_HEADER, inner(esp)])));
      } else
        for (const [what, type, carry] of [
          ['GRE', ethertypeOf(inside), inner],
          ['GRE of frames', BRIDGED, framed],
        ] as const) {
          const gre = id(what);
          const header = Buffer.from([0, 0, ...shortBytes(type)]);
          add(gre, ip(PROTOCOL.gre, Buffer.concat([header, carry(gre)])));
        }
    }
    // A route that names the victim after the gateway, which is to forward it.
    const [own = ''] = addresses;
    const routed = lab.id(`${key}, source route to ${inside}`);
    const hop = own.replace(/\d+$/, '1');
    const options = Buffer.concat([
      Buffer.from([0x83, 7, 4]),
      addressBytes(inside),
      Buffer.from([0]),
    ]);
    const body = udp({ from: own, to: hop }, 40_000, PORT, marker(routed));
    const packet = ipv4({ from: own, to: hop, protocol: PROTOCOL.udp, options }, body);
    sends.push({
      id: routed,
      from: namespace,
      frame: { device, to: gateway, type: ethertypeOf(hop), packet: packet.toString('hex') },
    });
  }
  return [...sends, ...byTheRouter(lab)];
}

const shortBytes = (number: number): readonly number[] => [number >> 8, number & 0xff];
/** Of IPv6 (RFC 8200 §4.5): the first piece has eight bytes. */
const fragmentHeader = (number: number): Buffer =>
  Buffer.from([PROTOCOL.udp, 0, ...(number === 0 ? [0, 1] : [0, 8]), 0, 0, 0, 7]);

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

/** Frames to the host's end of a pod's own interface: Open vSwitch alone is to take what comes there, and the host to forward nothing of it. */
export async function byOwnHostEnd(lab: HostileLab): Promise<readonly Send[]> {
  const sends: Send[] = [];
  for (const [from, by] of [
    ['plain/attacker', 'eth0'],
    ['blue/attacker', 'ovn-udn1'],
  ] as const) {
    const device = await lab.hostEndOf(from);
    const mac = await lab.portMac(device);
    const victims = (
      ['plain/beside', 'plain/far', 'guarded/beside', 'green/beside', 'green/far'] as const
    ).flatMap((key) => lab.onDefault(key).addresses);
    for (const to of [...victims, OUTSIDE.v4, OUTSIDE.v6])
      sends.push(lab.toPort(from, by, { device, mac, to }));
  }
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

const TCP_RESET = 0x04;
const TCP_SYN_AND_FIN = 0x03;

/**
 * By their routers, what belongs to no connection, and begins none for some conntrack (nf_conntrack_proto_tcp.c, nf_conntrack_proto_icmp.c). It may arrive
 * where it was translated all the same.
 */
export function outOfNoConnection(lab: HostileLab): readonly Send[] {
  const sends: Send[] = [];
  for (const [key, device] of [
    ['plain/attacker', 'eth0'],
    ['blue/attacker', 'ovn-udn1'],
  ] as const)
    for (const to of [OUTSIDE.v4, OUTSIDE.v6]) {
      const { namespace, addresses } = lab.on(key);
      const family = familyOf(to);
      const from = addresses.find((one) => familyOf(one) === family) ?? '';
      const gateway = macOf((addresses[0] ?? '').replace(/\d+$/, '1'));
      const add = (what: string, protocol: number, body: (payload: Buffer) => Buffer): void => {
        const id = lab.id(`${key}, ${what}, to ${to}`);
        const packet =
          family === 'v4'
            ? ipv4({ from, to, protocol }, body(marker(id)))
            : ipv6({ from, to, next: protocol }, body(marker(id)));
        const frame = {
          device,
          to: gateway,
          type: ethertypeOf(to),
          packet: packet.toString('hex'),
        };
        sends.push({ id, from: namespace, frame, isFree: true });
      };
      const between = { from, to };
      for (const [what, flags] of [
        ['a reset', TCP_RESET],
        ['a beginning that is an end', TCP_SYN_AND_FIN],
      ] as const)
        add(what, PROTOCOL.tcp, (payload) => tcp(between, 40_000, PORT, flags, payload));
      add('a wrong checksum', PROTOCOL.udp, (payload) => {
        const bytes = udp(between, 40_000, PORT, payload);
        bytes.writeUInt16BE(bytes.readUInt16BE(6) ^ 0x55, 6);
        return bytes;
      });
      if (family === 'v4') add('a reply', PROTOCOL.icmp, (payload) => icmp(0, 7, payload));
      else
        add('a reply', PROTOCOL.icmpv6, (payload) =>
          icmpv6(between, 129, Buffer.concat([Buffer.from([0, 7, 0, 1]), payload])),
        );
    }
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

/** Groups that everybody on a link is in, or hears of. */
const EVERYBODY = ['224.0.0.251', 'ff02::fb'] as const;

/**
 * Processes of pods on the host's network that bind to the host's ends of others' interfaces, and to ports of Open vSwitch. A packet to one address
 * waits there for a neighbour's answer, which Open vSwitch takes; one to a group does not.
 */
export async function boundPastOvn(lab: HostileLab): Promise<readonly Send[]> {
  const sends: Send[] = [];
  for (const key of ['plain/beside', 'guarded/beside', 'green/beside'] as const) {
    const { addresses, namespace } = lab.on(key);
    const device = await lab.hostEndOf(key);
    for (const to of EVERYBODY)
      sends.push(plainly(lab, `the host beside ${key}`, HOST, to, { device, wanted: namespace }));
    for (const agent of AGENTS) {
      const cgroup = await lab.cgroupOf(agent);
      for (const to of [...EVERYBODY, ...addresses])
        sends.push(plainly(lab, `${agent} beside ${key}`, HOST, to, { device, cgroup }));
    }
  }
  const cgroup = await lab.cgroupOf('plain/agent');
  const victims = ['green/beside', 'green/far', 'red/far'] as const;
  for (const device of ['ovn-k8s-mp0', 'genev_sys_6081', 'ovs-system', 'br-int'])
    for (const to of [...EVERYBODY, ...victims.flatMap((key) => lab.on(key).addresses)])
      sends.push(plainly(lab, 'plain/agent', HOST, to, { device, cgroup }));
  return sends;
}

/** What pods may do: reach each other by their router, and what is outside. */
export const byTheRouter = (lab: HostileLab): readonly Send[] => {
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
export function plainly(
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
