/** Which interfaces pods have: what their annotations say, as far as it is theirs to say (reference/api.md §6.9). */
import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import type { FactTable } from '../../facts/fact-table.ts';
import type { Key, KeySource } from '../../facts/keys.ts';
import type { Attachment, NetworkName } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { isProblem, valueOf, type ObjectReading } from '../read/reading.ts';
import { claimComesBefore, claimProblem, claimsOf } from '../rules/pod-claims.ts';
import {
  labelOf,
  permitAttachment,
  refusedEntry,
  type PlannedNad,
  type PodContext,
} from '../rules/pod-plan.ts';
import {
  addressingProblem,
  nodeRanges,
  sharedRanges,
  type PodRanges,
} from '../rules/pod-ranges.ts';
import { isAnsweredHere, isOpenWhileMoving } from '../rules/virtual-machines.ts';
import type { NamespaceTables } from './namespaces.ts';
import type { NetworkTables } from './networks.ts';
import type { NodeTables } from './nodes.ts';
import type { InterfaceKey, PodKey, PodTables } from './pods.ts';
import { problemOf, type ModelProblem } from './problems.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type AttachmentTables = ReturnType<typeof attachmentTables>;

type Facts<K extends Key, V extends object> = KeySource<K> & Pick<FactTable<K, V>, 'peek'>;

/** Keys of two tables. One that moves from the one to the other is never gone. */
const either = <K extends Key, V extends object>(a: Facts<K, V>, b: Facts<K, V>): KeySource<K> => ({
  steps: [...a.steps, ...b.steps],
  *keys() {
    yield* a.keys();
    for (const key of b.keys()) if (a.peek(...key) === undefined) yield key;
  },
  onKeys(listener) {
    const follow = (table: Facts<K, V>, other: Facts<K, V>): void =>
      table.onKeys((key, ...change) => {
        if (other.peek(...key) === undefined) listener(key, ...change);
      });
    follow(a, b);
    follow(b, a);
  },
});

/** Interfaces of one virtual machine on one network. */
type MachineKey = [namespace: string, machine: string, nad: string];
const machineKeys = ({ namespace, nadKey, machine }: Attachment): readonly MachineKey[] =>
  machine === undefined || nadKey === DEFAULT_NAD_KEY ? [] : [[namespace, machine.name, nadKey]];

export function attachmentTables(
  known: ZoneBasis & NodeTables & NamespaceTables & NetworkTables & PodTables,
) {
  const { nodeName, graph, definitions, registrations, interfaces, remoteInterfaces } = known;
  /** Interfaces by themselves. */
  const permits = new DerivedFacts<
    InterfaceKey,
    ObjectReading<Attachment>,
    { problem: []; claim: [string] }
  >('permits', graph, either(interfaces, remoteInterfaces), (...key) => permit(...key), {
    object: (namespace, pod) => `Pod ${namespace}/${pod}`,
    indexes: {
      problem: isProblem,
      claim: (reading) => (reading.kind === 'value' ? claimsOf(reading.value) : []),
    },
  });
  /** Interfaces beside each other. */
  const claims = new DerivedFacts<InterfaceKey, ObjectReading<Attachment>, { problem: [] }>(
    'claims',
    graph,
    permits,
    (...key) => claim(...key),
    { object: (namespace, pod) => `Pod ${namespace}/${pod}`, indexes: { problem: isProblem } },
  );
  const attachmentsOf = (name: string, source: KeySource<InterfaceKey>) =>
    new DerivedFacts<
      InterfaceKey,
      Attachment,
      {
        network: [network: string];
        namespace: [string];
        group: [network: string, namespace: string];
        pod: PodKey;
        machine: MachineKey;
      }
    >(name, graph, source, (...key) => valueOf(claims.get(...key)), {
      object: (namespace, pod) => `Pod ${namespace}/${pod}`,
      indexes: {
        network: ({ network }) => [network],
        group: ({ network, namespace }) => [[network, namespace]],
        namespace: ({ namespace }) => [namespace],
        pod: ({ namespace, pod }) => [[namespace, pod]],
        machine: machineKeys,
      },
    });
  /** Interfaces that pods of this node may have, with their networks. */
  const attachments = attachmentsOf('attachments', interfaces);
  /** Those of the pods of other nodes. */
  const remoteAttachments = attachmentsOf('remoteAttachments', remoteInterfaces);

  /** An interface that the pod may have, whatever other pods have (reference/api.md §6.9). */
  function permit(...key: InterfaceKey): ObjectReading<Attachment> | undefined {
    const [namespace, pod, nadKey] = key;
    const found = interfaces.get(...key) ?? remoteInterfaces.get(...key);
    const requests = known.networkRequests.get(namespace, pod);
    if (found === undefined || requests === undefined) return undefined;
    const permitted = permitAttachment(nadKey, requests, podContext(namespace));
    if (permitted?.kind !== 'value') return permitted;
    const { nad, role, request } = permitted.value;
    const network = (nad?.config.name ?? DEFAULT_NETWORK) as NetworkName;
    const ranges = rangesOf(network, nad, found.node);
    const problem = ranges && addressingProblem(found, ranges, request.ips);
    if (problem !== undefined) return refusedEntry(nadKey, problem);
    const { tunnelId: _tunnelId, ...rest } = found;
    const named = ranges?.firstTunnelId === undefined ? rest : found;
    return { kind: 'value', value: { ...named, network, role } };
  }

  /** … and that no other pod has what it claims. */
  function claim(...key: InterfaceKey): ObjectReading<Attachment> | undefined {
    const permitted = permits.get(...key);
    if (permitted?.kind !== 'value') return undefined;
    const own = permitted.value;
    const problem = claimProblem(own, (claimed) =>
      permits
        .by('claim', claimed)
        .map(valueOf)
        .filter((other) => other !== undefined)
        .filter(
          (other) =>
            claimComesBefore(other, own) &&
            claims.get(other.namespace, other.pod, other.nadKey)?.kind === 'value',
        ),
    );
    return problem === undefined ? permitted : refusedEntry(own.nadKey, problem);
  }

  function podContext(namespace: string): PodContext {
    const nad = (key: string): PlannedNad | undefined => {
      const definition = definitions.get(key);
      const config = definition && registrations.part(definition.network, 'config');
      if (definition === undefined || config === undefined) return undefined;
      const name = key.slice(definition.namespace.length + 1);
      return { key, namespace: definition.namespace, name, config };
    };
    const own = (): readonly PlannedNad[] =>
      definitions
        .keysBy('namespace', namespace)
        .map(nad)
        .filter((one) => one !== undefined);
    return {
      isLabelled: labelOf(namespace, known.namespaces.part(namespace, 'isLabelled')),
      get primaries() {
        return own().filter(({ config }) => config.role === 'primary');
      },
      nad,
      isOfNamespace: (network) => own().some(({ config }) => config.name === network),
    };
  }

  /** Addresses for pods of a node; undefined while those are not known: then there is no port either. */
  function rangesOf(
    network: string,
    nad: PlannedNad | undefined,
    node: string,
  ): PodRanges | undefined {
    if (nad !== undefined && nad.config.topology !== 'layer3') return sharedRanges(nad.config);
    const subnets = known.nodeSubnets.get(network, node);
    if (subnets === undefined || subnets.unreadable !== undefined) return undefined;
    const ranges = nodeRanges(network, subnets.cidrs);
    const mac =
      nad === undefined && node === nodeName
        ? known.self.part(node, 'managementPortMac')
        : undefined;
    return mac === undefined ? ranges : { ...ranges, reservedMacs: [...ranges.reservedMacs, mac] };
  }

  /** Interfaces of other pods of the same machine on the same network. */
  const otherPodsOf = (attachment: Attachment): readonly Attachment[] =>
    machineKeys(attachment)
      .flatMap((machine) => [
        ...attachments.by('machine', ...machine),
        ...remoteAttachments.by('machine', ...machine),
      ])
      .filter(({ pod }) => pod !== attachment.pod);

  return {
    attachments,
    remoteAttachments,
    /** Keys of both. */
    allAttachments: either(attachments, remoteAttachments),
    podContext,

    /** Whether the interface is the open one of a virtual machine that moves; undefined where OVN need not be told. */
    isOpenWhileMoving: (attachment: Attachment): boolean | undefined =>
      isOpenWhileMoving(attachment, otherPodsOf(attachment)),

    /** Whether DHCP answers the virtual machine in this pod. */
    isAnsweredHere: (attachment: Attachment): boolean =>
      isAnsweredHere(attachment, otherPodsOf(attachment)),

    /** What pods of this node say and may not; nodes report their own. */
    *attachmentProblems(): Iterable<ModelProblem> {
      for (const key of [...permits.keysBy('problem'), ...claims.keysBy('problem')]) {
        const [namespace, pod] = key;
        if (interfaces.peek(...key) === undefined) continue;
        yield* problemOf(`Pod ${namespace}/${pod}`, claims.peek(...key) ?? permits.peek(...key));
      }
    },
  };
}
