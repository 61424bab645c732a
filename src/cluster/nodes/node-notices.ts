/** What somebody should know of a node's annotations: as events of the Node, each once. */
import type { AnnotationError } from '../../api/annotations/annotations.ts';
import { NODE_ID, NODE_SUBNETS, nodeId } from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';
import type { Log } from '../../store/log.ts';
import type { Store } from '../../store/store.ts';
import { hostNetworksOf } from './host-networks.ts';
import { MOST_NODES } from './node-ids.ts';
import type { NodeRecord } from './node-record.ts';

export interface NodeNoticesOptions {
  readonly store: Pick<Store, 'event'>;
  readonly log: Log;
}

export class NodeNotices {
  readonly #options: NodeNoticesOptions;
  /** Nodes whose annotations were reported as nearly full. */
  readonly #nearlyFull = new Set<string>();
  /** Nodes for which no id was left. */
  readonly #withoutId = new Set<string>();
  /** Ids of annotations that can't be read, as they were told of, by node. */
  readonly #tornIds = new Map<string, string>();
  /** What nodes carry and another node has, in words, until they are told: an id, subnets. */
  readonly #taken = new Map<string, { id?: string; subnets: readonly string[] }>();
  /** What is wrong with the addresses that nodes say of themselves. */
  readonly #hostProblems = new Map<string, string>();

  constructor(options: NodeNoticesOptions) {
    this.#options = options;
  }

  /** What is wrong with what nodes say of themselves, by node. */
  problems(): Iterable<readonly [node: string, message: string]> {
    return this.#hostProblems;
  }

  /** The node is gone. */
  forget(node: string): void {
    for (const known of [this.#withoutId, this.#tornIds, this.#taken, this.#hostProblems])
      known.delete(node);
    this.#nearlyFull.delete(node);
  }

  noteTakenId(node: string, id: string): void {
    this.#taken.set(node, { subnets: [], ...this.#taken.get(node), id });
  }

  noteTakenSubnets(node: string, subnets: readonly string[]): void {
    if (subnets.length === 0) return;
    const before = this.#taken.get(node);
    this.#taken.set(node, { ...before, subnets: [...(before?.subnets ?? []), ...subnets] });
  }

  /** A node that carries what is another one's, such as one made from a copy, gets its own, and others know it by that: somebody should know. */
  async reportTaken(node: Node, given: number | undefined): Promise<void> {
    const { name } = node.metadata;
    const taken = this.#taken.get(name);
    if (taken === undefined) return;
    this.#taken.delete(name);
    const { id, subnets } = taken;
    const [first] = subnets;
    const more = subnets.length > 1 ? ` (and ${subnets.length - 1} more)` : '';
    const messages = [
      ...(id === undefined
        ? []
        : [
            `annotation ${NODE_ID}: ${id}; ${given === undefined ? 'no id is left for the node' : `the node gets id ${given}`}`,
          ]),
      ...(first === undefined
        ? []
        : [
            `annotation ${NODE_SUBNETS}: ${first}, which keeps it${more}; the node gets another one`,
          ]),
    ];
    for (const message of messages) {
      this.#options.log.warn({ node: name }, message);
      await this.#warn(node, 'InvalidAnnotation', `Node ${name}: ${message}`);
    }
  }

  async reportId(node: Node, id: number | undefined): Promise<void> {
    const { name } = node.metadata;
    if (id !== undefined) {
      this.#withoutId.delete(name);
      return;
    }
    if (this.#withoutId.has(name)) return;
    this.#withoutId.add(name);
    await this.#warn(
      node,
      'NodeIdAllocationFailed',
      `no node id left: at most ${MOST_NODES} nodes can be part of the cluster, remove nodes that are gone`,
    );
  }

  /** A node id that can't be read is told of once; all that follows from the id depends on whether it is kept. */
  async reportTornId(node: Node, id: number | undefined, isKept: boolean): Promise<void> {
    const { name } = node.metadata;
    const [error] = nodeId(node).errors;
    if (error === undefined) {
      this.#tornIds.delete(name);
      return;
    }
    if (this.#tornIds.get(name) === error.message) return;
    this.#tornIds.set(name, error.message);
    this.#options.log.warn({ node: name, error: error.message, id }, 'annotation can’t be read');
    const given = id === undefined ? 'no id is left' : `the node gets id ${id}`;
    const outcome = isKept
      ? `it is written again as it was: ${id}`
      : `what it was is not known, ${given}`;
    await this.#warn(node, 'InvalidAnnotation', `${error.message}; ${outcome}`);
  }

  /** An annotation that can't be read is written anew from what the node was given; somebody should know who breaks it. */
  async reportErrors(node: Node, [error]: readonly AnnotationError[]): Promise<void> {
    if (error === undefined) return;
    this.#options.log.warn(
      { node: node.metadata.name, error: error.message },
      'annotation can’t be read',
    );
    const outcome = 'it is written again as it was';
    await this.#warn(node, 'InvalidAnnotation', `${error.message}; ${outcome}`);
  }

  /** Networks are judged by the addresses of nodes: a node that says what can't be is the one to be told. */
  async reportHostAddresses(node: Node): Promise<void> {
    const { name } = node.metadata;
    const { problem } = hostNetworksOf(node);
    if (problem === this.#hostProblems.get(name)) return;
    if (problem === undefined) this.#hostProblems.delete(name);
    else {
      this.#hostProblems.set(name, problem);
      await this.#warn(node, 'InvalidAnnotation', problem);
    }
  }

  /** Says so before there is no room for another network, once. */
  async reportUsage(node: Node, record: NodeRecord): Promise<void> {
    const { name } = node.metadata;
    if (!record.isNearlyFull) this.#nearlyFull.delete(name);
    if (!record.isNearlyFull || this.#nearlyFull.has(name)) return;
    this.#nearlyFull.add(name);
    const share = Math.round(record.usage * 100);
    const message = `annotations: ${share} % of the room for annotations (240 of 256 KiB) is in use, most of it by the subnets of networks: networks that come when it is full get no subnet on this node; delete networks, or give them to fewer nodes`;
    this.#options.log.warn({ node: name, share }, message);
    await this.#warn(node, 'AnnotationsNearlyFull', message);
  }

  async #warn(regarding: Node, reason: string, message: string): Promise<void> {
    await this.#options.store.event({ regarding, type: 'Warning', reason, message });
  }
}
