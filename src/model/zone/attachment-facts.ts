/** Which interfaces pods have: what their annotations say, as far as it is theirs to say (reference/api.md §6.9). */
import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import { tupleKey, type KeySource } from '../../facts/keys.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { ZoneFacts } from './facts.ts';
import type { Attachment, NetworkName, PodInterface } from '../model.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { claimComesBefore, claimProblem, claimsOf } from '../rules/pod-claims.ts';
import {
  labelOf,
  permitAttachment,
  refusedEntry,
  type PlannedNad,
  type PodContext,
  type PodNetworkRequests,
} from '../rules/pod-plan.ts';
import {
  addressingProblem,
  nodeRanges,
  sharedRanges,
  type PodRanges,
} from '../rules/pod-ranges.ts';
import { problemOf, type ModelProblem } from './problems.ts';
import { isProblem, valueOf, type ObjectReading } from '../read/reading.ts';
import { isOpenWhileMoving } from '../rules/virtual-machines.ts';

/** Keys of two tables. One that moves from the one to the other is never gone. */
const either = <V extends object>(a: FactTable<V>, b: FactTable<V>): KeySource => ({
  steps: [...a.steps, ...b.steps],
  *tuples() {
    yield* a.tuples();
    for (const tuple of b.tuples()) if (a.peek(...tuple) === undefined) yield tuple;
  },
  onKeys(listener) {
    const follow = (table: FactTable<V>, other: FactTable<V>): void =>
      table.onKeys((tuple, isPresent) => {
        if (other.peek(...tuple) === undefined) listener(tuple, isPresent);
      });
    follow(a, b);
    follow(b, a);
  },
});

/** Interfaces of one virtual machine on one network. */
const machineBuckets = ({ namespace, nadKey, machine }: Attachment): readonly string[] =>
  machine === undefined || nadKey === DEFAULT_NAD_KEY
    ? []
    : [tupleKey(namespace, machine.name, nadKey)];

export class AttachmentFacts {
  /** What these pods ask for, by namespace and name. */
  readonly networkRequests: FactTable<PodNetworkRequests>;
  /** What they say of their interfaces, by namespace, pod and NAD key. */
  readonly interfaces: FactTable<PodInterface>;
  /** Those of the pods of other nodes, by the same key; none while nothing asks for them. */
  readonly remoteInterfaces: FactTable<PodInterface>;
  /** Interfaces that pods may have, with their networks, by namespace, pod and NAD key. */
  readonly attachments: FactTable<Attachment>;
  /** Those of the pods of other nodes. */
  readonly remoteAttachments: FactTable<Attachment>;

  readonly #facts: ZoneFacts;
  /** Interfaces by themselves. */
  readonly #permits: DerivedFacts<ObjectReading<Attachment>>;
  /** Interfaces beside each other. */
  readonly #claims: DerivedFacts<ObjectReading<Attachment>>;

  constructor(facts: ZoneFacts) {
    const { graph, recorder } = facts;
    this.#facts = facts;
    this.networkRequests = new FactTable('networkRequests', recorder, { arity: 2 });
    this.interfaces = new FactTable('interfaces', recorder, { arity: 3 });
    this.remoteInterfaces = new FactTable('remoteInterfaces', recorder, { arity: 3 });
    this.#permits = new DerivedFacts(
      'permits',
      graph,
      either(this.interfaces, this.remoteInterfaces),
      (...key) => this.#permit(key),
      {
        arity: 3,
        indexes: {
          problem: isProblem,
          claim: (permit) => (permit.kind === 'value' ? claimsOf(permit.value) : []),
        },
      },
    );
    this.#claims = new DerivedFacts(
      'claims',
      graph,
      this.#permits.table,
      (...key) => this.#claim(key),
      { arity: 3, indexes: { problem: isProblem } },
    );
    const attachmentsOf = (name: string, interfaces: KeySource) =>
      new DerivedFacts(
        name,
        graph,
        interfaces,
        (...key) => valueOf(this.#claims.table.get(...key)),
        {
          arity: 3,
          indexes: {
            network: ({ network }) => [network],
            pod: ({ namespace, pod }) => [tupleKey(namespace, pod)],
            machine: (attachment) => machineBuckets(attachment),
          },
        },
      );
    const attachments = attachmentsOf('attachments', this.interfaces);
    const remoteAttachments = attachmentsOf('remoteAttachments', this.remoteInterfaces);
    this.attachments = attachments.table;
    this.remoteAttachments = remoteAttachments.table;
  }

  /** Whether the interface is the open one of a virtual machine that moves; undefined where OVN need not be told. */
  isOpenWhileMoving(attachment: Attachment): boolean | undefined {
    const others = machineBuckets(attachment)
      .flatMap((bucket) => [
        ...this.attachments.by('machine', bucket),
        ...this.remoteAttachments.by('machine', bucket),
      ])
      .filter(({ pod }) => pod !== attachment.pod);
    return isOpenWhileMoving(attachment, others);
  }

  /** What pods of this node say and may not; nodes report their own. */
  *problems(): Iterable<ModelProblem> {
    for (const { table } of [this.#permits, this.#claims])
      for (const key of table.keysBy('problem', '')) {
        const tuple = JSON.parse(key) as readonly string[];
        const [namespace = '', pod = ''] = tuple;
        if (this.interfaces.peek(...tuple) === undefined) continue;
        yield* problemOf(`Pod ${namespace}/${pod}`, table.peek(...tuple));
      }
  }

  /** An interface that the pod may have, whatever other pods have (reference/api.md §6.9). */
  #permit(key: readonly string[]): ObjectReading<Attachment> | undefined {
    const [namespace = '', pod = '', nadKey = ''] = key;
    const found = this.interfaces.get(...key) ?? this.remoteInterfaces.get(...key);
    const requests = this.networkRequests.get(namespace, pod);
    if (found === undefined || requests === undefined) return undefined;
    const permit = permitAttachment(nadKey, requests, this.#podContext(namespace));
    if (permit?.kind !== 'value') return permit;
    const { nad, role, request } = permit.value;
    const network = (nad?.config.name ?? DEFAULT_NETWORK) as NetworkName;
    const ranges = this.#rangesOf(network, nad, found.node);
    const problem = ranges && addressingProblem(found, ranges, request.ips);
    if (problem !== undefined) return refusedEntry(nadKey, problem);
    const { tunnelId: _tunnelId, ...rest } = found;
    const named = ranges?.firstTunnelId === undefined ? rest : found;
    return { kind: 'value', value: { ...named, network, role } };
  }

  /** … and that no other pod has what it claims. */
  #claim(key: readonly string[]): ObjectReading<Attachment> | undefined {
    const permit = this.#permits.table.get(...key);
    if (permit?.kind !== 'value') return undefined;
    const claim = permit.value;
    const problem = claimProblem(claim, (claimed) =>
      this.#permits.table
        .by('claim', claimed)
        .map(valueOf)
        .filter((other) => other !== undefined)
        .filter(
          (other) =>
            claimComesBefore(other, claim) &&
            this.#claims.table.get(other.namespace, other.pod, other.nadKey)?.kind === 'value',
        ),
    );
    return problem === undefined ? permit : refusedEntry(claim.nadKey, problem);
  }

  #podContext(namespace: string): PodContext {
    const nad = (key: string): PlannedNad | undefined => {
      const definition = this.#facts.definitions.get(key);
      const config = definition && this.#facts.registrations.part(definition.network, 'config');
      if (definition === undefined || config === undefined) return undefined;
      const name = key.slice(definition.namespace.length + 1);
      return { key, namespace: definition.namespace, name, config };
    };
    const own = (): readonly PlannedNad[] =>
      this.#facts.definitions
        .keysBy('namespace', namespace)
        .map(nad)
        .filter((one) => one !== undefined);
    return {
      isLabelled: labelOf(namespace, this.#facts.namespaces.part(namespace, 'isLabelled')),
      get primaries() {
        return own().filter(({ config }) => config.role === 'primary');
      },
      nad,
      isOfNamespace: (network) => own().some(({ config }) => config.name === network),
    };
  }

  /** Addresses for pods of a node; undefined while those are not known: then there is no port either. */
  #rangesOf(network: string, nad: PlannedNad | undefined, node: string): PodRanges | undefined {
    if (nad !== undefined && nad.config.topology !== 'layer3') return sharedRanges(nad.config);
    const subnets = this.#facts.nodeSubnets.get(network, node);
    if (subnets === undefined || subnets.unreadable !== undefined) return undefined;
    const ranges = nodeRanges(network, subnets.cidrs);
    const mac =
      nad === undefined && node === this.#facts.nodeName
        ? this.#facts.self.part(node, 'managementPortMac')
        : undefined;
    return mac === undefined ? ranges : { ...ranges, reservedMacs: [...ranges.reservedMacs, mac] };
  }
}
