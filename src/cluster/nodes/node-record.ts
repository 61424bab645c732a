/** What the manager knows of one node's annotations: what was read last, and what they should be. In memory. */
import {
  formatNodeSubnetEntries,
  formatNodeSubnetEntry,
  NODE_SUBNETS,
  nodeSubnetEntryStart,
  nodeSubnets,
  readNodeSubnetEntry,
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

export class NodeRecord {
  /** Networks that the node should have subnets of and has none. */
  readonly missing = new Set<string>();
  /** Networks whose subnets were given since the annotation was written, or compared, last. */
  readonly #given = new Set<string>();
  /** What of the annotation could not be read. */
  #errors: readonly AnnotationError[] = [];
  /** Entries of the annotation as it should be, sorted: of nodes and networks there are hundreds of thousands, so each is a text and nothing more. */
  readonly #entries: string[] = [];
  #entryBytes = 0;
  #otherBytes = 0;
  #carried: AnnotatedSubnets = NO_SUBNETS;
  #read: string | undefined;
  /** The annotation as it was written last: more may have been given since, and still nobody else wrote it. */
  #written: string | undefined;
  /** Undefined = to be put together anew. */
  #text: { readonly text: string | undefined } | undefined;

  /** What the annotation held when somebody else wrote it last, as far as it can be read, and nobody has decided on it yet. */
  get carried(): AnnotatedSubnets {
    return this.#carried;
  }

  /** What the node carries of networks of which `isDecided` says so was adopted, or is written over. */
  forgetCarried(isDecided: (network: string) => boolean): void {
    if (this.#carried.size > 0)
      this.#carried = new Map([...this.#carried].filter(([network]) => !isDecided(network)));
  }

  /** What the node should have of a network, else what it carries; undefined for neither. */
  subnetsOf(network: string): readonly string[] | undefined {
    const entry = this.#entryOf(network);
    return entry === undefined ? this.#carried.get(network) : readNodeSubnetEntry(entry).subnets;
  }

  has(network: string): boolean {
    return this.#entryOf(network) !== undefined;
  }

  /** Networks of which the node should have something. */
  networks(): readonly string[] {
    return this.#entries.map((entry) => readNodeSubnetEntry(entry).network);
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
    const isKnown = text === this.#read;
    const isOurs = text !== undefined && (text === this.#written || text === this.text());
    this.#read = text;
    if (isOurs) this.#keepOne(text);
    if (isKnown || isOurs) return false;
    const { value = NO_SUBNETS, errors } = nodeSubnets(node);
    this.#carried = value;
    this.#errors = errors;
    return true;
  }

  /** The annotation as it should be now is about to be written. Returns the networks that the node does not carry yet. */
  writing(): readonly string[] {
    this.#written = this.text();
    for (const network of this.#given)
      if (this.#read?.includes(this.#entryOf(network) ?? '') === true) this.#given.delete(network);
    return [...this.#given];
  }

  /** These are written. */
  wrote(networks: Iterable<string>): void {
    for (const network of networks) this.#given.delete(network);
  }

  /** The node carries what it should have. */
  wroteAll(): void {
    this.#given.clear();
  }

  /** The annotation as it should be; undefined for none. */
  text(): string | undefined {
    this.#text ??= { text: formatNodeSubnetEntries(this.#entries) };
    return this.#text.text;
  }

  /** True when an entry for the network fits into the annotation; one that is there already stays. */
  hasRoomFor(network: string, subnets: readonly string[]): boolean {
    const entry = formatNodeSubnetEntry(network, subnets);
    const growth = sizeOf(entry) - sizeOf(this.#entryOf(network));
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
    const before = this.#entryOf(network);
    const text = subnets.length === 0 ? undefined : formatNodeSubnetEntry(network, subnets);
    if (text === before) return false;
    const place = placeOf(this.#entries, nodeSubnetEntryStart(network));
    this.#entries.splice(
      place,
      before === undefined ? 0 : 1,
      ...(text === undefined ? [] : [text]),
    );
    this.#entryBytes += sizeOf(text) - sizeOf(before);
    this.#text = undefined;
    if (text === undefined) this.#given.delete(network);
    else this.#given.add(network);
    return true;
  }

  /** The entry of a network comes where the text that it begins with would. */
  #entryOf(network: string): string | undefined {
    const start = nodeSubnetEntryStart(network);
    const entry = this.#entries[placeOf(this.#entries, start)];
    return entry?.startsWith(start) === true ? entry : undefined;
  }

  /** The same text, of which the object of the node has one already. */
  #keepOne(text: string): void {
    if (text === this.#written) this.#written = text;
    if (text === this.#text?.text) this.#text = { text };
  }

  get #bytes(): number {
    return this.#otherBytes + NODE_SUBNETS.length + 2 + this.#entryBytes;
  }
}
