/**
 * What load balancers make of a packet. ovn-trace(8) chooses an endpoint at random, knows no template variables, nor what a pod sends to itself, nor affinity; so of a
 * load balancer at the sender's own switch, and of a template, each endpoint is asked about by itself.
 */
import type { Decided } from '../packets/packet-report.ts';
import type { Packet } from '../packets/microflow.ts';
import { backendsOf, decisionsOf, isStoppedBeforeLb } from '../packets/trace-end.ts';
import type { TraceEvent } from '../packets/trace-text.ts';
import type { Balancing, PacketDeciders } from './packet-deciders.ts';
import { isSameAddress, type PacketPorts } from './packet-ports.ts';
import type { PacketTemplates } from './packet-templates.ts';

export interface Followed {
  readonly events: readonly TraceEvent[];
  /** Endpoints of the load balancers on the way. */
  readonly backends: readonly string[];
  /** Of which the events know nothing: they are those of one endpoint. */
  readonly balancing?: Balancing;
}

export interface BalancingSource {
  readonly follow: (packet: Packet) => Promise<readonly TraceEvent[]>;
  readonly templates: PacketTemplates;
  readonly deciders: PacketDeciders;
  readonly ports: PacketPorts;
  /** By which address a pod sees itself through a service, of the family of this one. */
  readonly hairpinSource: (address: string) => string | undefined;
}

/** Address and port of `10.0.0.5:80` and `[fd00::5]:80`. */
export function endpointOf(
  text: string,
): { readonly address: string; readonly port: number } | undefined {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:[\]]+)):(\d+)$/.exec(text) ?? [];
  const address = bracketed ?? plain;
  return address === undefined ? undefined : { address, port: Number(port) };
}

/** The way of a packet that begins a connection; `turn` chooses among the endpoints of a load balancer. */
export async function balanced(
  source: BalancingSource,
  packet: Packet,
  turn: number,
): Promise<Followed> {
  const events = await source.follow(packet);
  const found = await balancingOf(source, packet, events);
  if (found === undefined)
    return { events, backends: events.flatMap((event) => backendsIn(event)) };
  const { balancing, isAtOwnSwitch, isTemplate } = found;
  const { backends } = balancing;
  const endpoint = endpointOf(backends[turn % backends.length] ?? '');
  if (endpoint === undefined) return { events, backends, balancing };
  const there: Packet = { ...packet, to: endpoint.address, toPort: endpoint.port };
  if (isAtOwnSwitch && isSameAddress(there.to, packet.from))
    return hairpin(source, there, balancing);
  const toEndpoint = await source.follow(there);
  // ACLs before load balancing see the service's address, not the endpoint's: then one that ovn-trace chooses has to do.
  return isStoppedBeforeLb(toEndpoint, balancing.datapath)
    ? { events: isTemplate ? [] : events, backends }
    : { events: toEndpoint, backends, balancing };
}

const backendsIn = (event: TraceEvent): readonly string[] =>
  event.kind === 'step' && event.aside === undefined ? backendsOf(event) : [];

interface Found {
  readonly balancing: Balancing;
  readonly isAtOwnSwitch: boolean;
  readonly isTemplate: boolean;
}

async function balancingOf(
  { templates, deciders }: BalancingSource,
  packet: Packet,
  events: readonly TraceEvent[],
): Promise<Found | undefined> {
  const own = events.find(({ aside }) => aside === undefined)?.place.datapath;
  const template = await templates.on(events, packet);
  if (template !== undefined) {
    const { datapath, backends } = template;
    const by = await deciders.byTemplate(template);
    return {
      balancing: { datapath, backends, by: [by] },
      isAtOwnSwitch: datapath === own,
      isTemplate: true,
    };
  }
  const decision = decisionsOf(events, []).find(({ kind }) => kind === 'balances');
  if (decision === undefined || decision.step.place.datapath !== own) return undefined;
  const backends = backendsOf(decision.step);
  const by = await deciders.decided(decision);
  const balancing = { datapath: decision.step.place.datapath, backends, by: [by] } as const;
  return { balancing, isAtOwnSwitch: true, isTemplate: false };
}

/**
 * What a pod sends to itself by a service comes back at its switch, from another address, before ACLs that are applied after load balancing (ovn-northd(8), Hairpin). ACLs
 * on the way to the pod decide: those that meet what comes from the router with that address.
 */
async function hairpin(
  { follow, ports, hairpinSource }: BalancingSource,
  packet: Packet,
  balancing: Balancing,
): Promise<Followed> {
  const { backends, by } = balancing;
  const { inport, fromMac, toMac } = packet;
  const from = hairpinSource(packet.to);
  const router = await ports.toRouter(inport, toMac);
  if (from === undefined || router === undefined)
    return { events: await follow(packet), backends, balancing };
  const events = await follow({ ...packet, inport: router, fromMac: toMac, toMac: fromMac, from });
  const translates: Decided = {
    ...by[0],
    kind: 'translates',
    stage: 'ls_in_nat_hairpin',
    text: `from ${from}`,
  };
  const out = events.filter(({ place }) => place.pipeline === 'egress');
  return {
    events: (out.length === 0 ? events : out).map((event) => ({
      ...event,
      place: { ...event.place, inport },
    })),
    backends,
    balancing: { ...balancing, by: [...by, translates] },
  };
}
