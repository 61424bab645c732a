/** Addresses that outlive pods: IPAMClaims of networks that allow them (reference/api.md §1.14, §6.9). */
import type { AllocationError } from '../allocators/allocation-error.ts';
import { ipamClaims } from '../api/kinds.ts';
import { objectKey } from '../api/objects.ts';
import type { IPAMClaim, Pod } from '../api/types.ts';
import type { Clock } from '../store/clock.ts';
import type { ObjectView } from '../store/informer.ts';
import { StoreError, type Store } from '../store/store.ts';
import { StatusWriter, type StatedCondition } from '../store/status-writer.ts';
import type { NetworkPool } from './network-pool.ts';
import { machineOf } from '../model/rules/virtual-machines.ts';
import { SHARED_NAMESPACE, type WantedAttachment } from '../model/rules/pod-plan.ts';

export interface PersistentAddressesOptions {
  readonly store: Pick<Store, 'patchStatus'>;
  readonly claims: ObjectView<IPAMClaim>;
  readonly clock: Clock;
}

interface ClaimedPool {
  readonly pool: NetworkPool;
  /** Whether claims of a namespace may be of the network: pods there can be on it. */
  readonly isServedIn: (namespace: string) => boolean;
}

const ALLOCATED: StatedCondition = {
  type: 'IPsAllocated',
  status: 'True',
  reason: 'SuccessfulAllocation',
  message: 'IP addresses successfully allocated',
};

export class PersistentAddresses {
  readonly #options: PersistentAddressesOptions;
  readonly #writer: StatusWriter;
  readonly #pools = new Map<string, ClaimedPool>();

  constructor(options: PersistentAddressesOptions) {
    this.#options = options;
    const { store, clock } = options;
    this.#writer = new StatusWriter({ store, clock, fieldManager: 'clustermanager-ipamclaims' });
  }

  /** Calls `listener` with the namespace and the network of a claim that is of it from now on, or that has given its addresses back. */
  onChange(listener: (namespace: string, network: string) => void): void {
    const known = new Map(
      this.#options.claims.list().map((claim) => [objectKey(claim.metadata), networkOf(claim)]),
    );
    this.#options.claims.onChange(({ key, after }) => {
      const [before, now] = [known.get(key), after && networkOf(after)];
      if (before === now) return;
      if (now === undefined) known.delete(key);
      else known.set(key, now);
      const [namespace = ''] = key.split('/');
      if (before !== undefined) {
        this.#pools.get(before)?.pool.release(ownerOfClaim(key));
        listener(namespace, before);
      }
      if (after === undefined || now === undefined) return;
      adopt(this.#pools.get(now), after);
      listener(namespace, now);
    });
  }

  /**
   * Why the attachment has to wait: its claim isn't there, and may hold addresses when it comes; it is that of another network; or its addresses are
   * those of another pod. `users` are the pods that name it and have some there.
   */
  obstacle(
    pod: Pod,
    attachment: WantedAttachment,
    users: (claim: string) => readonly Pod[],
  ): string | undefined {
    const key = this.#claimKey(pod, attachment);
    if (key === undefined) return undefined;
    const network = attachment.nad?.config.name ?? '';
    const claim = this.#options.claims.get(key);
    if (claim === undefined)
      return `network ${network}: there is no IPAMClaim "${key}": create it, or remove ipam-claim-reference from the pod`;
    if (networkOf(claim) !== network)
      return `network ${network}: IPAMClaim "${key}" is of network "${networkOf(claim)}" (spec.network): name one of ${network} in ipam-claim-reference`;
    const user = users(key).find((one) => !mayShare(one, pod));
    return user === undefined
      ? undefined
      : `network ${network}: IPAMClaim "${key}" (ipam-claim-reference) holds the addresses of pod "${objectKey(user.metadata)}", and only pods of one virtual machine share them: name another claim, or delete that pod`;
  }

  /** What an attachment is called in messages: with the claim, if that holds its addresses. */
  describe(pod: Pod, attachment: WantedAttachment): string {
    const text = `${attachment.nadKey}/${objectKey(pod.metadata)}`;
    const claim = this.#claimOf(pod, attachment);
    return claim === undefined || this.addressesFor(pod, attachment).length === 0
      ? text
      : `${text} (status.ips of IPAMClaim "${objectKey(claim.metadata)}": delete the claim if they are not its own)`;
  }

  /** A claim that came after its pod holds what the pod has. */
  async takeOver(
    pod: Pod,
    attachment: WantedAttachment,
    ips: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    if (this.addressesFor(pod, attachment).length === 0)
      await this.record(pod, attachment, ips, signal);
  }

  /** Takes over what claims hold of a network, when its pool is made. A claim of a namespace that has not the network counts for nothing. */
  adopt(network: string, pool: NetworkPool, isServedIn: (namespace: string) => boolean): void {
    this.#pools.set(network, { pool, isServedIn });
    this.#adoptAll((claim) => networkOf(claim) === network);
  }

  /** The network's pool is gone. */
  forget(network: string): void {
    this.#pools.delete(network);
  }

  /** Networks have come to these namespaces: what claims hold there counts before anybody gets an address. */
  served(namespaces: ReadonlySet<string>): void {
    this.#adoptAll(
      ({ metadata }) =>
        namespaces.has(metadata.namespace ?? '') || namespaces.has(SHARED_NAMESPACE),
    );
  }

  #adoptAll(counts: (claim: IPAMClaim) => boolean): void {
    for (const claim of this.#options.claims.list())
      if (counts(claim)) adopt(this.#pools.get(networkOf(claim)), claim);
  }

  /** Who holds the attachment's addresses when a claim does; undefined when the pod does itself. */
  ownerFor(pod: Pod, attachment: WantedAttachment): string | undefined {
    const claim = this.#claimOf(pod, attachment);
    return claim === undefined ? undefined : ownerOfClaim(objectKey(claim.metadata));
  }

  /** Addresses that the attachment's claim holds already. */
  addressesFor(pod: Pod, attachment: WantedAttachment): readonly string[] {
    return this.#claimOf(pod, attachment)?.status?.ips ?? [];
  }

  async record(
    pod: Pod,
    attachment: WantedAttachment,
    ips: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const claim = this.#claimOf(pod, attachment);
    if (claim === undefined) return;
    const fields = { ips, ownerPod: { name: pod.metadata.name } };
    await this.#write(claim, ALLOCATED, fields, signal);
  }

  async recordFailure(
    pod: Pod,
    attachment: WantedAttachment,
    error: AllocationError,
    signal: AbortSignal,
  ): Promise<void> {
    const claim = this.#claimOf(pod, attachment);
    if (claim === undefined) return;
    const condition: StatedCondition = {
      type: 'IPsAllocated',
      status: 'False',
      reason: failureReason(error),
      message: error.message,
    };
    // What a claim holds it keeps: a pod that can't be served takes nothing away from it.
    const fields = claim.status?.ips === undefined ? { ips: [] } : {};
    await this.#write(claim, condition, fields, signal);
  }

  async #write(
    claim: IPAMClaim,
    condition: StatedCondition,
    fields: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.#writer.write(ipamClaims, claim, { conditions: [condition], fields }, signal);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'not-found') throw error;
    }
  }

  /** The claim counts only on networks that allow persistent addresses, and for the network that it names. */
  #claimOf(pod: Pod, attachment: WantedAttachment): IPAMClaim | undefined {
    const key = this.#claimKey(pod, attachment);
    const claim = key === undefined ? undefined : this.#options.claims.get(key);
    return claim && networkOf(claim) === attachment.nad?.config.name ? claim : undefined;
  }

  #claimKey(pod: Pod, { nad, request }: WantedAttachment): string | undefined {
    if (request.ipamClaim === undefined || nad === undefined) return undefined;
    if (!nad.config.allowPersistentIPs || nad.config.subnets.length === 0) return undefined;
    return objectKey({ namespace: pod.metadata.namespace, name: request.ipamClaim });
  }
}

const networkOf = ({ spec }: IPAMClaim): string => spec?.network ?? '';

/** Whether two pods may have the same addresses: they are one, or run one machine, which moves. */
function mayShare(a: Pod, b: Pod): boolean {
  if (objectKey(a.metadata) === objectKey(b.metadata)) return true;
  const machine = machineOf(a)?.name;
  return machine !== undefined && machine === machineOf(b)?.name;
}

function failureReason(error: AllocationError): string {
  if (error.code === 'exhausted') return 'SubnetExhausted';
  if (error.code !== 'taken' && error.code !== 'conflict') return 'InternalError';
  return error.message.includes('MAC address') ? 'MACAddressConflict' : 'IPAddressConflict';
}

function adopt(claimed: ClaimedPool | undefined, { metadata, status }: IPAMClaim): void {
  const ips = status?.ips ?? [];
  if (ips.length > 0 && claimed?.isServedIn(metadata.namespace ?? '') === true)
    claimed.pool.adoptAddresses(ownerOfClaim(objectKey(metadata)), ips);
}

const ownerOfClaim = (key: string): string => `claim ${key}`;
