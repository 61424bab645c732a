/** EgressIPs for classes of destinations (OKEP-6227), and the interfaces of pods that leave with their addresses to these (reference/egress.md §1.15). */
import {
  familyOf,
  formatPrefix,
  overlaps,
  parsePrefix,
  withoutPrefix,
} from '../../allocators/addresses.ts';
import { withoutPrefixes } from '../../allocators/prefix-subtraction.ts';
import { matchesSelector } from '../../api/selectors.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import { whileAny } from '../../facts/keys.ts';
import type { Family } from '../../allocators/addresses.ts';
import type { NetworkName } from '../model.ts';
import { NO_TRAFFIC_CLASS, type TrafficClass } from '../read/egress-traffic-classes.ts';
import type { AttachmentTables } from './attachments.ts';
import type { EgressIpTables } from './egress-ips.ts';
import type { EgressServiceTables } from './egress-services.ts';
import type { NetworkTables } from './networks.ts';
import type { InterfaceKey, PodTables } from './pods.ts';
import type { ModelProblem } from './problems.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** Where to an EgressIP gives its addresses: all destinations of the classes that it selects, in order. */
interface EgressDestinations {
  readonly name: string;
  readonly cidrs: readonly string[];
}

/** What one EgressIP does for an interface. */
export interface EgressClassUse {
  readonly egressIp: string;
  /** Of the interface, without prefix length. */
  readonly addresses: readonly string[];
  /** What older EgressIPs of the pod leave to it; absent: all of its destinations. */
  readonly only?: readonly string[];
}

export interface EgressClassPort {
  readonly namespace: string;
  readonly pod: string;
  readonly network: NetworkName;
  /** The pod is on this node. */
  readonly isOwn: boolean;
  readonly uses: readonly EgressClassUse[];
  /** EgressIPs that lose destinations to an older one of the pod. */
  readonly conflicts: readonly { readonly egressIp: string; readonly older: string }[];
}

export type EgressClassTables = ReturnType<typeof egressClassTables>;

const prefixes = (cidrs: readonly string[]) => cidrs.flatMap((cidr) => parsePrefix(cidr) ?? []);

export function egressClassTables(
  known: ZoneBasis &
    Pick<NetworkTables, 'leavesBy'> &
    PodTables &
    AttachmentTables &
    EgressIpTables &
    EgressServiceTables,
) {
  const { graph, recorder, egressIps } = known;
  const trafficClasses = new FactTable<[name: string], TrafficClass>('trafficClasses', recorder);
  const egressDestinations = new DerivedFacts<[egressIp: string], EgressDestinations, { none: [] }>(
    'egressDestinations',
    graph,
    egressIps,
    (name) => {
      const selector = egressIps.part(name, 'trafficSelector');
      if (selector === undefined || !known.settings.features.egressIp) return undefined;
      const cidrs = trafficClasses
        .all()
        .filter(({ labels }) => matchesSelector(selector, labels))
        .flatMap((one) => one.cidrs);
      return { name, cidrs: [...new Set(cidrs)].sort() };
    },
    {
      object: (name) => `EgressIP ${name}`,
      indexes: { none: ({ cidrs }) => (cidrs.length === 0 ? [[]] : []) },
    },
  );
  const egressClassPorts = new DerivedFacts<
    InterfaceKey,
    EgressClassPort,
    { contested: [] },
    { served: [network: NetworkName, Family] }
  >(
    'egressClassPorts',
    graph,
    whileAny(egressIps, known.allAttachments),
    (...key) => portOf(...key),
    {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: { contested: ({ conflicts }) => (conflicts.length === 0 ? [] : [[]]) },
      sets: {
        served: ({ network, uses, isOwn }) =>
          isOwn
            ? [...new Set(uses.flatMap(({ addresses }) => addresses))].map((address) => [
                [network, familyOf(address)],
                address,
              ])
            : [],
      },
    },
  );

  function portOf(...key: InterfaceKey): EgressClassPort | undefined {
    const own = known.attachments.get(...key);
    const attachment = own ?? known.remoteAttachments.get(...key);
    if (attachment === undefined || !known.leavesBy(attachment)) return undefined;
    const { namespace, pod, network } = attachment;
    const names = known.classEgressOf(namespace, pod);
    if (names.length === 0) return undefined;
    // What leaves as an EgressService says has its address, wherever to.
    const elsewhere = known.egressServicePorts.get(...key)?.addresses ?? [];
    const addresses = attachment.addresses
      .map(withoutPrefix)
      .filter((address) => !elsewhere.includes(address));
    const uses: EgressClassUse[] = [];
    const conflicts: { egressIp: string; older: string }[] = [];
    const before: { readonly name: string; readonly cidrs: readonly string[] }[] = [];
    for (const name of names) {
      const cidrs = egressDestinations.part(name, 'cidrs') ?? [];
      const families = egressIps.part(name, 'families') ?? [];
      const inWay = before.filter((older) =>
        prefixes(older.cidrs).some((one) => prefixes(cidrs).some((two) => overlaps(one, two))),
      );
      const taken = prefixes(inWay.flatMap((older) => older.cidrs));
      const only = prefixes(cidrs).flatMap((one) =>
        [...withoutPrefixes(one, taken)].map(formatPrefix),
      );
      if (cidrs.length > 0)
        uses.push({
          egressIp: name,
          addresses: addresses.filter((address) => families.includes(familyOf(address))),
          ...(inWay.length === 0 ? {} : { only: [...new Set(only)].sort() }),
        });
      for (const older of inWay) conflicts.push({ egressIp: name, older: older.name });
      before.push({ name, cidrs });
    }
    return { namespace, pod, network, isOwn: own !== undefined, uses, conflicts };
  }

  return {
    trafficClasses,
    egressDestinations,
    egressClassPorts,

    *egressClassProblems(): Iterable<ModelProblem> {
      for (const name of egressDestinations.keysBy('none'))
        yield {
          object: `EgressIP ${name}`,
          message: `spec.trafficSelector: ${NO_TRAFFIC_CLASS}`,
        };
      for (const key of egressClassPorts.keysBy('contested')) {
        const { namespace = '', pod = '', conflicts = [] } = egressClassPorts.peek(...key) ?? {};
        for (const { egressIp, older } of conflicts)
          yield {
            object: `EgressIP ${egressIp}`,
            message: `spec.trafficSelector: for pod ${namespace}/${pod} destinations overlap those of EgressIP ${older}, which is older and keeps them; select disjoint classes, or other pods`,
          };
      }
    },
  };
}
