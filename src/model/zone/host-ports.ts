/** Ports of this node that its pods have, and where they lead. */
import { familyOf, withoutPrefix } from '../../allocators/addresses.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { NetworkName, PerFamily } from '../model.ts';
import type { HostPortRequests } from '../read/host-ports.ts';
import {
  admitHostPorts,
  hadPortBefore,
  hostPortClaim,
  overlaps,
  type AdmittedHostPorts,
  type HostPort,
} from '../rules/host-ports.ts';
import { claimOf } from '../rules/service-admission.ts';
import type { AttachmentTables } from './attachments.ts';
import type { NodeTables } from './nodes.ts';
import type { PodKey } from './pods.ts';
import type { ModelProblem } from './problems.ts';
import type { ServiceTables } from './services.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** The ports of a pod, on the network that it is reached by. */
export interface PodHostPorts {
  readonly namespace: string;
  readonly pod: string;
  readonly network: NetworkName;
  /** The pod's addresses there. */
  readonly addresses: PerFamily<string>;
  readonly ports: readonly PlacedHostPort[];
}

export interface PlacedHostPort extends HostPort {
  /** Processes of the host reach it by the network's gateway router: there a port is once, whatever addresses of the node it is at. */
  readonly isAtRouter: boolean;
  /** In local gateway mode clients outside reach it by the network's switch: there it is once, too. */
  readonly isAtSwitch: boolean;
}

const claimOfPort = ({ protocol, port }: HostPort): string =>
  hostPortClaim({ protocol, hostPort: port });

export function hostPortTables(known: ZoneBasis & NodeTables & ServiceTables & AttachmentTables) {
  const { graph, recorder, services, declaredServices, attachments } = known;
  const hostPortRequests = new FactTable<PodKey, HostPortRequests, { hostPort: [string] }>(
    'hostPortRequests',
    recorder,
    { indexes: { hostPort: ({ ports }) => [...new Set(ports.map(hostPortClaim))] } },
  );
  /** What pods have of what they ask for, whether they have an address yet or not. */
  const admittedHostPorts = new DerivedFacts<PodKey, AdmittedHostPorts, { refused: [] }>(
    'admittedHostPorts',
    graph,
    hostPortRequests,
    admit,
    {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: { refused: ({ refused }) => (refused === undefined ? [] : [[]]) },
    },
  );
  const hostPorts = new DerivedFacts<PodKey, PodHostPorts>(
    'hostPorts',
    graph,
    admittedHostPorts,
    place,
    { object: (namespace, pod) => `Pod ${namespace}/${pod}` },
  );

  /** Pods that came before, and have the port at whatever address, with their requests. */
  function olderWith(claim: string, own: HostPortRequests): readonly HostPortRequests[] {
    return hostPortRequests
      .by('hostPort', claim)
      .filter((other) => hadPortBefore(other, own))
      .filter(
        ({ namespace, name }) =>
          admittedHostPorts
            .get(namespace, name)
            ?.ports.some((port) => claimOfPort(port) === claim) === true,
      );
  }

  function admit(...key: PodKey): AdmittedHostPorts | undefined {
    const own = hostPortRequests.get(...key);
    if (own === undefined) return undefined;
    return admitHostPorts(own, {
      addresses: [...new Set(known.own('hostAddresses').map(withoutPrefix))].sort(),
      most: known.settings.serviceLimits.entries,
      nodePort: (protocol, port) => declaredServices.keysBy('nodePort', `${protocol} ${port}`)[0],
      external: (address, protocol, port) =>
        declaredServices
          .keysBy('claim', claimOf(address, { protocol, port }))
          .find((service) => services.part(service, 'externalIps')?.includes(address) === true),
      olderPod: (request) => {
        const older = olderWith(hostPortClaim(request), own).find(({ ports }) =>
          ports.some((other) => overlaps(other, request)),
        );
        return older && `${older.namespace}/${older.name}`;
      },
    });
  }

  /** Undefined for a pod that has no port, or no address yet. */
  function place(...key: PodKey): PodHostPorts | undefined {
    const own = hostPortRequests.get(...key);
    const ports = admittedHostPorts.get(...key)?.ports ?? [];
    const attachment = primaryOf(...key);
    if (own === undefined || ports.length === 0 || attachment === undefined) return undefined;
    const { network } = attachment;
    const addresses: Partial<Record<'v4' | 'v6', string>> = {};
    for (const text of attachment.addresses) {
      const address = withoutPrefix(text);
      addresses[familyOf(address)] ??= address;
    }
    const isFirst = (claim: string, isTaken: (port: HostPort) => boolean): boolean =>
      !olderWith(claim, own).some(
        (other) =>
          primaryOf(other.namespace, other.name)?.network === network &&
          admittedHostPorts
            .get(other.namespace, other.name)
            ?.ports.some((port) => claimOfPort(port) === claim && isTaken(port)) === true,
      );
    const [namespace, pod] = key;
    const placed = ports.map((port): PlacedHostPort => {
      const isOutside = ({ addresses: at }: HostPort): boolean => at.length > 0;
      return {
        ...port,
        isAtRouter: isFirst(claimOfPort(port), () => true),
        isAtSwitch: isOutside(port) && isFirst(claimOfPort(port), isOutside),
      };
    });
    return { namespace, pod, network, addresses, ports: placed };
  }

  /** The interface by which a pod sends what it sends by no other one. */
  const primaryOf = (...key: PodKey) =>
    attachments.by('pod', ...key).find(({ role }) => role === 'primary');

  return {
    hostPortRequests,
    hostPorts,

    *hostPortProblems(): Iterable<ModelProblem> {
      for (const [namespace, pod] of admittedHostPorts.keysBy('refused')) {
        const message = admittedHostPorts.peek(namespace, pod)?.refused;
        if (message !== undefined) yield { object: `Pod ${namespace}/${pod}`, message };
      }
    },
  };
}
