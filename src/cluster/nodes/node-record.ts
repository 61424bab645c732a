/** What the manager knows of one node's annotations: what was read last, and what they should be. In memory. */
import {
  formatNodeSubnetEntries,
  formatNodeSubnetEntry,
  NODE_SUBNETS,
  nodeSubnets,
} from '../../api/annotations/node-annotations.ts';
import type { AnnotationError } from '../../api/annotations/annotations.ts';
import { annotationOf } from '../../api/annotations/annotations.ts';
import type { Node } from '../../api/types.ts';
import type { AnnotatedSubnets } from './node-subnets.ts';

/** The API server refuses annotations that have more than 256 KiB together; others write some, too. */
const MOST_BYTES = 256 * 1024;
const SPARE_BYTES = 16 * 1024;
/** Share of the room above which a node is reported as nearly full. */
const WARN_ABOVE = 0.8;

/** Of an entry with what parts it from the next one; names and addresses are ASCII. */
const sizeOf = (entry: string | undefined): number => (entry === undefined ? 0 : entry.length + 1);

/** Where the text is in a sorted list, or should be. */
function placeOf(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

const NO_SUBNETS: AnnotatedSubnets = new Map();

interface Entry {
  readonly subnets: readonly string[];
  readonly text: string;
}

export class NodeRecord {
  /** Networks that the node should have subnets of and has none. */
  readonly missing = new Set<string>();
  /** Networks whose subnets are given and not written yet. */
  readonly unwritten = new Set<string>();
  /** What of the annotation could not be read. */
  #errors: readonly AnnotationError[] = [];
  /** Entries of the annotation as it should be, by network. */
  readonly #entries = new Map<string, Entry>();
  readonly #sorted: string[] = [];
  #entryBytes = 0;
  #otherBytes = 0;
  #carried: AnnotatedSubnets = NO_SUBNETS;
  #read: string | undefined;
  /** The annotation as it was written last: more may have been given since, and still nobody else wrote it. */
  #written: string | undefined;
  /** Undefined = to be put together anew. */
  #text: { readonly text: string | undefined } | undefined;

  /** What the annotation held when somebody else wrote it last, as far as it can be read. */
  get carried(): AnnotatedSubnets {
    return this.#carried;
  }

  /** What the node should have of a network, else what it carries; undefined for neither. */
  subnetsOf(network: string): readonly string[] | undefined {
    return this.#entries.get(network)?.subnets ?? this.#carried.get(network);
  }

  has(network: string): boolean {
    return this.#entries.has(network);
  }

  /** Networks of which the node should have something. */
  networks(): Iterable<string> {
    return this.#entries.keys();
  }

  /** What could not be read of the annotation since this was last asked. */
  takeErrors(): readonly AnnotationError[] {
    const errors = this.#errors;
    this.#errors = [];
    return errors;
  }

  /** Takes in the node; true when its subnets are not those that were read or written last. */
  read(node: Node): boolean {
    const { annotations = {} } = node.metadata;
    this.#otherBytes = Object.entries(annotations)
      .filter(([key]) => key !== NODE_SUBNETS)
      .reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
    const text = annotationOf(node, NODE_SUBNETS);
    const isOurs = text !== undefined && (text === this.#written || text === this.text());
    if (text === this.#read || isOurs) {
      this.#read = text;
      return false;
    }
    this.#read = text;
    const { value = NO_SUBNETS, errors } = nodeSubnets(node);
    this.#carried = value;
    this.#errors = errors;
    return true;
  }

  /** The annotation as it should be now is about to be written. */
  writing(): void {
    this.#written = this.text();
  }

  /** The annotation as it should be; undefined for none. */
  text(): string | undefined {
    this.#text ??= { text: formatNodeSubnetEntries(this.#sorted) };
    return this.#text.text;
  }

  /** True when an entry for the network fits into the annotation; one that is there already stays. */
  hasRoomFor(network: string, subnets: readonly string[]): boolean {
    const entry = formatNodeSubnetEntry(network, subnets);
    const growth = sizeOf(entry) - sizeOf(this.#entries.get(network)?.text);
    return growth <= 0 || this.#bytes + growth <= MOST_BYTES - SPARE_BYTES;
  }

  /** Share of the room for annotations that is in use, from 0 to 1. */
  get usage(): number {
    return this.#bytes / (MOST_BYTES - SPARE_BYTES);
  }

  get isNearlyFull(): boolean {
    return this.usage > WARN_ABOVE;
  }

  /** What the node should have of a network; nothing takes the entry away. True when that changes something. */
  set(network: string, subnets: readonly string[]): boolean {
    const before = this.#entries.get(network)?.text;
    const text = subnets.length === 0 ? undefined : formatNodeSubnetEntry(network, subnets);
    if (text === before) return false;
    if (before !== undefined) this.#sorted.splice(placeOf(this.#sorted, before), 1);
    if (text === undefined) this.#entries.delete(network);
    else {
      this.#entries.set(network, { subnets, text });
      this.#sorted.splice(placeOf(this.#sorted, text), 0, text);
    }
    this.#entryBytes += sizeOf(text) - sizeOf(before);
    this.#text = undefined;
    if (text === undefined) this.unwritten.delete(network);
    else if (!this.#isCarried(network, subnets)) this.unwritten.add(network);
    return true;
  }

  #isCarried(network: string, subnets: readonly string[]): boolean {
    const carried = this.#carried.get(network);
    return carried?.length === subnets.length && carried.every((one, at) => one === subnets[at]);
  }

  get #bytes(): number {
    return this.#otherBytes + NODE_SUBNETS.length + 2 + this.#entryBytes;
  }
}
