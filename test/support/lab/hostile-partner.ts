/** Pods that send by the host's ports on their networks, past their routers, and a partner outside who answers, or who begins. */
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { SERVER_PORT } from '../../../src/lab/pods.ts';
import type { GatewayMode } from '../../../src/model/model.ts';
import { marker, type Send } from './frames.ts';
import { ethertypeOf, ipv4, ipv6, PROTOCOL, udp } from './frame-bytes.ts';
import { byTheRouter } from './hostile-attacks.ts';
import { NOBODY, PORT, type HostileLab, type HostilePod, type Way } from './hostile-lab.ts';
import { nodeAddresses } from './matrix-tenants.ts';

interface Attacker {
  readonly key: HostilePod;
  readonly device: string;
  /** The host's port on the network, and its MAC address. */
  readonly port: string;
  readonly mac: string;
}

async function attackers(lab: HostileLab): Promise<readonly Attacker[]> {
  const found = [
    { key: 'plain/attacker', device: 'eth0', port: 'ovn-k8s-mp0' },
    { key: 'blue/attacker', device: 'ovn-udn1', port: await lab.portOf('blue') },
  ] as const;
  return Promise.all(found.map(async (one) => ({ ...one, mac: await lab.portMac(one.port) })));
}

/** What an attacker asks: outside, and pods of others on its own node and on another one. */
const asked = (lab: HostileLab, { key }: Attacker, outside: string): readonly Way[] => {
  const { namespace: from } = lab.on(key);
  const toPods = [
    lab.onDefault('green/beside'),
    lab.onDefault('guarded/beside'),
    lab.on('red/far'),
  ];
  return [
    ...[OUTSIDE.v4, OUTSIDE.v6].flatMap((to) =>
      (['tcp', 'udp'] as const).map((protocol) => ({
        from,
        to,
        port: SERVER_PORT,
        protocol,
        expected: outside,
      })),
    ),
    ...toPods.flatMap(({ addresses }) =>
      addresses.map((to) => ({ from, to, port: SERVER_PORT, expected: NOBODY })),
    ),
  ];
};

/**
 * Has pods take the host's port for their gateway, so that all that they send goes there, and ask a partner outside. In shared gateway mode none of
 * it is answered; in local mode that port is the way out of the default network, and of no other.
 */
export async function askAPartner(lab: HostileLab, mode: GatewayMode): Promise<void> {
  const all = await attackers(lab);
  const usual = all.flatMap((one) => asked(lab, one, 'outside'));
  // By their routers they are answered: it is the port that holds it.
  await lab.untilAnswered(usual);
  const undo: (() => Promise<unknown>)[] = [];
  for (const { key, device, mac } of all) {
    const { namespace } = lab.on(key);
    for (const family of ['-4', '-6'] as const) {
      const routes = await lab.ip(namespace, `${family} route show default`);
      const gateway = /via (\S+)/.exec(routes)?.[1] ?? '';
      await lab.ip(namespace, `neigh replace ${gateway} lladdr ${mac} dev ${device} nud permanent`);
      undo.push(() => lab.ip(namespace, `neigh del ${gateway} dev ${device}`));
    }
  }
  await lab.proveAnswers(
    "a partner outside, by the host's ports",
    all.flatMap((one) =>
      asked(lab, one, mode === 'local' && one.port === 'ovn-k8s-mp0' ? 'outside' : NOBODY),
    ),
  );
  for (const back of undo) await back();
  await lab.untilAnswered(usual);
}

/**
 * A partner outside who sends to a pod's own address by its node, so that what the pod sends by the host's port is an answer for the host: it is not to
 * leave with the pod's own address.
 */
export async function answerAPartner(lab: HostileLab, mode: GatewayMode): Promise<void> {
  const sends: Send[] = [];
  const routes: string[] = [];
  const hops = nodeAddresses('n1');
  for (const { key, device, mac } of await attackers(lab)) {
    // In local gateway mode the default network's way out is the host's.
    if (mode === 'local' && key === 'plain/attacker') continue;
    const { namespace, addresses } = lab.on(key);
    for (const [index, pod] of addresses.entries()) {
      const outside = [OUTSIDE.v4, OUTSIDE.v6][index] ?? '';
      routes.push(`${pod} via ${hops[index] ?? ''}`);
      const sourcePort = 41_000 + sends.length;
      const asks = lab.id(`the host outside to ${key} ${pod}`);
      const payload = marker(asks).toString('hex');
      const datagram = { to: pod, port: PORT, payload, sourcePort };
      sends.push({ id: asks, from: 'ext', datagram, isFree: true });
      const answers = lab.id(`${key} by the host's port as an answer to ${outside}`);
      const body = udp({ from: pod, to: outside }, PORT, sourcePort, marker(answers));
      const packet =
        index === 0
          ? ipv4({ from: pod, to: outside, protocol: PROTOCOL.udp }, body)
          : ipv6({ from: pod, to: outside, next: PROTOCOL.udp }, body);
      const frame = { device, to: mac, type: ethertypeOf(pod), packet: packet.toString('hex') };
      sends.push({ id: answers, from: namespace, frame });
    }
  }
  for (const route of routes) await lab.ip('ext', `route replace ${route}`);
  try {
    await lab.prove('answers to a partner outside', [...sends, ...byTheRouter(lab)]);
  } finally {
    for (const route of routes) await lab.ip('ext', `route del ${route}`);
  }
}
