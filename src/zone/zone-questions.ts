/** What is asked of a zone at work beside its plan: its host, what is below it, where something comes from, what becomes of a packet, and what is dropped. */
import { readUnderlayDevices } from '../node/chassis/underlay-state.ts';
import { tunnelsIn } from '../node/chassis/chassis-database.ts';
import {
  missingHolds,
  underlayReport,
  type UnderlayReport,
} from '../node/chassis/underlay-report.ts';
import { OvnTrace } from '../node/programs/ovn-trace.ts';
import { hostReport, type HostReport } from '../node/report.ts';
import { askedPacket, type PacketQuestion } from '../packets/asked-packet.ts';
import type { PacketReport } from '../packets/packet-report.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { askedOrigin } from '../views/asked-origin.ts';
import type { DropsReport } from '../views/drops.ts';
import type { ExplainReport } from '../views/origin.ts';
import { DropCounts, droppedIn, type DropSource } from './drop-counters.ts';
import { explained } from './explained.ts';
import type { OpenHost } from './host.ts';
import { explainedPacket } from './packet-explained.ts';
import type { ZoneRuntime } from './zone-runtime.ts';

type Zone = Pick<
  ZoneRuntime,
  | 'configuration'
  | 'controller'
  | 'facts'
  | 'host'
  | 'northbound'
  | 'southbound'
  | 'store'
  | 'switchDown'
>;

/** What the host holds, as units want it, and where it differs. Throws ConfigurationError when the host is left alone. */
export async function hostOf(zone: Zone): Promise<HostReport> {
  const { configuration, controller, facts } = zone;
  const host = hostOrThrow(zone);
  const plans = await host.controller.plans(controller.hostMayBeWanted());
  const { bridges } = host.uplink.read();
  return hostReport(facts, configuration.host, controller.hostUnits(), plans, bridges);
}

/** How clean the network below is, as far as this node can tell. Throws ConfigurationError when the host is left alone. */
export async function underlayOf(zone: Zone): Promise<UnderlayReport> {
  const { controller, facts, switchDown } = zone;
  const host = hostOrThrow(zone);
  const plans = await host.controller.plans(controller.hostMayBeWanted());
  return underlayReport(facts, {
    devices: readUnderlayDevices(host.namespace),
    bridges: host.uplink.read(),
    tunnels: tunnelsIn(host.openVswitch.replica),
    strangers: await host.controller.strangersSeen(
      facts.self.peek(facts.nodeName)?.gateway?.bridge,
    ),
    // What its flows are is not known meanwhile.
    missing: [...(switchDown === undefined ? [] : [switchDown]), ...missingHolds(plans)],
  });
}

/** Where a row, a flow or a rule comes from, by its name, number or text. Throws ConfigurationError for what can't be asked. */
export async function originsOf(
  zone: Zone,
  asked: string,
  signal: AbortSignal,
): Promise<ExplainReport> {
  const answer = await explained(zone, askedOrigin(asked), signal);
  return { node: zone.configuration.node, asked, ...answer };
}

/** What becomes of a packet, and why. Throws ConfigurationError for what can't be asked, and without a Southbound database. */
export async function packetOf(
  zone: Zone,
  question: PacketQuestion,
  signal: AbortSignal,
): Promise<PacketReport> {
  const asked = askedPacket(question);
  const { configuration, facts, controller, northbound, southbound, host, store } = zone;
  const { sb: remotes, tls } = configuration;
  const ovnTrace = remotes === undefined ? undefined : new OvnTrace({ remotes, tls });
  const { objects } = store;
  const source = { configuration, facts, controller, northbound, southbound, host };
  return explainedPacket({ ...source, objects, ovnTrace }, asked, signal);
}

/** What the node drops, by counters of flows. Throws ConfigurationError when the host is left alone. */
export const dropsOf = (zone: Zone, seconds: number, signal: AbortSignal): Promise<DropsReport> =>
  droppedIn(dropSource(zone), seconds, signal);

/** The same again and again. Throws ConfigurationError when the host is left alone. */
export const dropCountsOf = (zone: Zone): DropCounts => new DropCounts(dropSource(zone));

function dropSource(zone: Zone): DropSource {
  const { ofctl } = hostOrThrow(zone);
  const { configuration, facts, controller, northbound, southbound, host } = zone;
  return { configuration, facts, controller, northbound, southbound, host, ofctl };
}

function hostOrThrow({ configuration, host }: Pick<Zone, 'configuration' | 'host'>): OpenHost {
  if (host === undefined)
    throw new ConfigurationError(
      '--ovs',
      `is required: without the remote of its Open_vSwitch database the host of node ${configuration.node} is left alone`,
    );
  return host;
}
