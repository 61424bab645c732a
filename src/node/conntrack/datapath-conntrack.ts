/** Connections that Open vSwitch's userspace datapath tracks itself: those of a service or a next hop that goes, or with a wrong source, are forgotten, by its control socket. */
import type { Connection, Tuple } from 'rtnetlink-ts';
import { familyOf } from '../../allocators/addresses.ts';
import { USERSPACE_DATAPATH } from '../names.ts';
import type { Unixctl } from '../programs/unixctl.ts';
import { PROTOCOLS } from './conntrack.ts';
import { WrongSources, type SourceConnections } from './egress-connections.ts';
import { hopLabels, type HopConnections } from './hop-connections.ts';
import type { StaleConnections } from './service-connections.ts';

const FIELDS = { v4: 'ct_nw', v6: 'ct_ipv6' } as const;

export class DatapathConntrack {
  readonly #vswitchd: Pick<Unixctl, 'run'>;
  readonly #isUserspace: () => boolean;

  /** `isUserspace`: whether the integration bridge is of that datapath; where it is the kernel's, so are the connections. */
  constructor(vswitchd: Pick<Unixctl, 'run'>, isUserspace: () => boolean) {
    this.#vswitchd = vswitchd;
    this.#isUserspace = isUserspace;
  }

  /**
   * Forgets connections of all zones that went to services, also those of the external bridge, which is of the same datapath. One after the other: ovs-vswitchd looks
   * through all of its table for each, and does its other work in between. Throws UnixctlError. Needs Open vSwitch 3.1.
   */
  async forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void> {
    if (!this.#isUserspace()) return;
    for (const one of stale)
      await this.#vswitchd.run(
        'dpctl/flush-conntrack',
        [USERSPACE_DATAPATH, ...tuplesOf(one)],
        signal,
      );
  }

  /** Forgets connections of pods that are answered by way of a next hop. Throws UnixctlError. Needs Open vSwitch 3.2. */
  async forgetHops(stale: readonly HopConnections[], signal: AbortSignal): Promise<void> {
    if (!this.#isUserspace()) return;
    for (const { source, mac } of stale)
      await this.#vswitchd.run(
        'dpctl/flush-conntrack',
        // By who answers: the original destination may be a service.
        [
          USERSPACE_DATAPATH,
          `labels=${hopLabels(mac)}`,
          '',
          `${FIELDS[familyOf(source)]}_src=${source}`,
        ],
        signal,
      );
  }

  /** Forgets connections of pods that leave with a wrong source. Throws UnixctlError. Needs Open vSwitch 3.1. */
  async forgetSources(stale: readonly SourceConnections[], signal: AbortSignal): Promise<void> {
    if (!this.#isUserspace()) return;
    const found = new WrongSources(stale);
    const shown = await this.#vswitchd.run('dpctl/dump-conntrack', [USERSPACE_DATAPATH], signal);
    const all = shown.split('\n').flatMap((line) => shownConnection(line) ?? []);
    const direct = all.filter((one) => found.isWrong(one));
    for (const { zone, original } of [...direct, ...all.filter((one) => found.isWrongBehind(one))])
      await this.#vswitchd.run(
        'dpctl/flush-conntrack',
        [USERSPACE_DATAPATH, `zone=${zone}`, fieldsOf(original)],
        signal,
      );
  }
}

/**
 * Resolves when no packet goes by flows of before: the datapath keeps what ovs-vswitchd made of them until that has looked at it again. A look that is under
 * way may have begun before: the one after it counts. Throws UnixctlError.
 */
export async function revalidated(
  vswitchd: Pick<Unixctl, 'run'>,
  signal: AbortSignal,
): Promise<void> {
  for (let look = 0; look < 2; look += 1) await vswitchd.run('revalidator/wait', [], signal);
}

/** What connections have in common, as ovs-dpctl(8) takes it: as who began them sends, and as who answers. */
function tuplesOf({ protocol, destination, endpoint }: StaleConnections): readonly string[] {
  const { address, port, family } = destination;
  const [fields, number] = [FIELDS[family], `ct_nw_proto=${PROTOCOLS[protocol]}`];
  const original = `${fields}_dst=${address},${number},ct_tp_dst=${port}`;
  return endpoint === undefined ? [original] : [original, `${fields}_src=${endpoint},${number}`];
}

/** As ovs-dpctl(8) calls them (IANA). */
const SHOWN: Readonly<Record<string, number>> = { ...PROTOCOLS, icmp: 1, icmpv6: 58 };

/** A line of dpctl/dump-conntrack; undefined for protocols that no pod's connection is translated for. */
export function shownConnection(
  line: string,
): Pick<Connection, 'original' | 'reply' | 'zone'> | undefined {
  const [, name = '', sent = '', answered = '', rest = ''] =
    /^(\w+),orig=\(([^)]*)\),reply=\(([^)]*)\)(.*)$/.exec(line) ?? [];
  const protocol = SHOWN[name];
  if (protocol === undefined) return undefined;
  const [original, reply] = [tupleIn(protocol, sent), tupleIn(protocol, answered)];
  return { original, reply, zone: Number(/,zone=(\d+)/.exec(rest)?.[1] ?? 0) };
}

function tupleIn(protocol: number, text: string): Tuple {
  const fields = new Map(text.split(',').map((field) => field.split('=') as [string, string]));
  const number = (name: string): number | undefined => {
    const value = fields.get(name);
    return value === undefined ? undefined : Number(value);
  };
  const id = number('id');
  return {
    source: fields.get('src') ?? '',
    destination: fields.get('dst') ?? '',
    protocol,
    sourcePort: number('sport'),
    destinationPort: number('dport'),
    icmp:
      id === undefined ? undefined : { id, type: number('type') ?? 0, code: number('code') ?? 0 },
  };
}

/** A whole direction, as ovs-dpctl(8) takes it. */
function fieldsOf({
  source,
  destination,
  protocol,
  sourcePort,
  destinationPort,
  icmp,
}: Tuple): string {
  const name = FIELDS[familyOf(source)];
  const addresses = `${name}_src=${source},${name}_dst=${destination},ct_nw_proto=${protocol}`;
  return icmp === undefined
    ? `${addresses},ct_tp_src=${sourcePort},ct_tp_dst=${destinationPort}`
    : `${addresses},icmp_id=${icmp.id},icmp_type=${icmp.type},icmp_code=${icmp.code}`;
}
