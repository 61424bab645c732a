/**
 * The port of tunnels at the external bridge: what a pod sends there with an address of its node would be taken for what that node says, and goes into any
 * network. Nothing of a network gets there, whole or in pieces, and from outside nodes alone do (reference/node.md §4.3, 200 and 205).
 */
import { contains } from '../../allocators/addresses.ts';
import type { Findings } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { Flow, Settings } from '../snapshot.ts';

const TUNNELS = 'tp_dst=6081';
const PIECES = 'nw_frag=yes';

const partsOf = ({ match }: Flow): ReadonlySet<string> => new Set(match.split(','));
const isDrop = ({ actions }: Flow): boolean => actions === 'drop';

export function checkBridgeTunnels(
  bridge: string,
  all: readonly Flow[],
  patches: ReadonlyMap<number, { readonly network?: VerifiedNetwork }>,
  settings: Settings,
  intent: Intent,
  findings: Findings,
): void {
  const flows = all.filter(({ table }) => table === 0);
  for (const [ip, udp] of [
    ['ip', 'udp'],
    ['ipv6', 'udp6'],
  ] as const) {
    const about = flows.filter((flow) => flow.match.includes('6081') && partsOf(flow).has(udp));
    // The bridge has no flows of a family that the node has not.
    if (about.length === 0) continue;
    for (const [port, { network }] of patches) {
      if (network === undefined) continue;
      const from = `in_port=${port}`;
      const lacks = (what: string): void => {
        findings.wrong(
          'external bridge',
          `flows of ${bridge}`,
          `lack the one that ${what} network ${network.name} to the port of tunnels (${udp})`,
          network.object,
          [network.name],
        );
      };
      if (!about.some((flow) => isDrop(flow) && hasAll(flow, [udp, from, TUNNELS])))
        lacks('drops what goes from');
      if (!flows.some((flow) => hasAll(flow, [ip, from, PIECES, 'ct_state=-trk'])))
        lacks('puts together pieces of what goes from');
    }
    if (!about.some((flow) => isDrop(flow) && hasSome(flow, [PIECES, 'ct_tp_dst=6081'])))
      findings.wrong(
        'external bridge',
        `flows of ${bridge}`,
        `lack the one that drops pieces of what goes to the port of tunnels (${udp})`,
        'cluster',
      );
    if (settings.tunnelSources !== 'any')
      checkSources(
        bridge,
        about,
        new Set(patches.keys()),
        settings.tunnelSources,
        intent,
        findings,
      );
  }
}

const hasSome = (flow: Flow, parts: readonly string[]): boolean =>
  parts.every((part) => partsOf(flow).has(part));
/** With these parts, and nothing that makes it for fewer packets. */
const hasAll = (flow: Flow, parts: readonly string[]): boolean =>
  partsOf(flow).size === parts.length && hasSome(flow, parts);

/** From outside: a drop, and before it addresses of other nodes and those of settings. */
function checkSources(
  bridge: string,
  flows: readonly Flow[],
  patches: ReadonlySet<number>,
  named: readonly string[],
  { nodes }: Intent,
  findings: Findings,
): void {
  const fromOutside = flows.filter((flow) => {
    const port = /\bin_port=(\w+)/.exec(flow.match)?.[1];
    return (
      hasSome(flow, [TUNNELS]) &&
      port !== undefined &&
      port !== 'LOCAL' &&
      !patches.has(Number(port))
    );
  });
  const drop = fromOutside.find(isDrop);
  if (drop === undefined) {
    findings.wrong(
      'external bridge',
      `flows of ${bridge}`,
      'lack the one that drops what strangers send to the port of tunnels',
      'cluster',
    );
    return;
  }
  const ends = [...nodes.values()].flatMap(({ tunnelAddresses }) => tunnelAddresses);
  for (const flow of fromOutside) {
    if (isDrop(flow) || flow.priority < drop.priority) continue;
    const source = /\b(?:nw_src|ipv6_src)=([0-9a-fA-F.:/]+)/.exec(flow.match)?.[1] ?? '';
    const isNamed = named.some((range) => range === source || contains(range, source));
    if (!ends.includes(source) && !isNamed)
      findings.wrong(
        'external bridge',
        `flow of the external bridge, table 0, priority ${flow.priority}, ${flow.match}`,
        `lets ${source === '' ? 'anybody' : source} send to the port of tunnels, who is no node`,
        'cluster',
      );
  }
}
