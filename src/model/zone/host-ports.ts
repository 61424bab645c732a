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
  otherPorts,
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
  /**
   * Its number where one address stands for all of the node's: at the gateway router for processes of the host and, in local gateway mode, at the switch
   * for clients outside. The port itself, where no older pod of the network has that at another address; undefined where all numbers are taken.
   */
  readonly alias: number | undefined;
}

const claimAt = ({ protocol }: HostPort, port: number): string =>
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
  const hostPorts = new DerivedFacts<
    PodKey,
    PodHostPorts,
    { alias: [network: NetworkName, claim: string] }
  >('hostPorts', graph, admittedHostPorts, place, {
    object: (namespace, pod) => `Pod ${namespace}/${pod}`,
    indexes: {
      alias: ({ network, ports }) =>
        ports.flatMap(({ protocol, port, alias }): [NetworkName, string][] =>
          alias === undefined || alias === port
            ? []
            : [[network, hostPortClaim({ protocol, hostPort: alias })]],
        ),
    },
  });

  /** Pods that came before, and have the port at whatever address, with their requests. */
  function olderWith(claim: string, own: HostPortRequests): readonly HostPortRequests[] {
    return hostPortRequests
      .by('hostPort', claim)
      .filter((other) => hadPortBefore(other, own))
      .filter(
        ({ namespace, name }) =>
          admittedHostPorts
            .get(namespace, name)
            ?.ports.some((port) => claimAt(port, port.port) === claim) === true,
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
    const [namespace, pod] = key;
    const taken = new Set<string>();
    const placed = ports.map((port): PlacedHostPort => {
      const alias = aliasOf(port, own, network, taken);
      if (alias !== undefined) taken.add(claimAt(port, alias));
      return { ...port, alias };
    });
    return { namespace, pod, network, addresses, ports: placed };
  }

  function aliasOf(
    port: HostPort,
    own: HostPortRequests,
    network: NetworkName,
    taken: ReadonlySet<string>,
  ): number | undefined {
    const claim = claimAt(port, port.port);
    const isOlder = (other: PodKey): boolean => {
      const request = hostPortRequests.get(...other);
      return request !== undefined && hadPortBefore(request, own);
    };
    const isSecond =
      taken.has(claim) ||
      olderWith(claim, own).some(
        ({ namespace, name }) => primaryOf(namespace, name)?.network === network,
      );
    if (!isSecond) return port.port;
    const at = [...port.addresses, ...port.loopback].join();
    for (const other of otherPorts(`${own.namespace}/${own.name} ${claim} ${at}`)) {
      const free = claimAt(port, other);
      if (
        !taken.has(free) &&
        hostPortRequests.keysBy('hostPort', free).length === 0 &&
        declaredServices.keysBy('nodePort', free).length === 0 &&
        !hostPorts.keysBy('alias', network, free).some(isOlder)
      )
        return other;
    }
    return undefined;
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
