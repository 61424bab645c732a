/** Reads the text of a manifest: YAML or JSON, any number of documents, lists nested in any depth. Takes text, does no I/O. */
import type { Document, Node as YamlNode, Scalar, ScalarTag } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments, visit } from 'yaml';
import { hasStatusSubresource } from './catalog.ts';
import type { FieldError, FieldPath } from './field-errors.ts';
import { formatProblem, formatValue, shownPath } from './field-errors.ts';
import { remedyOf } from './remedies.ts';
import type { KubeObject, ResourceKind } from '../objects.ts';
import type { PlainObject } from '../plain-object.ts';
import { isPlainObject, own } from '../plain-object.ts';
import { validateObject } from './validate.ts';

/** A place in a file; line and column count from 1. */
interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One object of a file that is valid in itself. */
export interface ManifestDocument {
  readonly kind: ResourceKind;
  /** Validated, defaulted, in the stored version. */
  readonly object: KubeObject;
  /** As written, for checks of an update with `validateObject(…, old)`. */
  readonly written: unknown;
  /** Where the object begins. */
  readonly position: Position;
  /** Where a field is; the nearest field around it when it is not written. */
  readonly positionOf: (path: FieldPath) => Position;
}

/** What is wrong with a file, an object or a field. */
export interface ManifestError extends Position {
  /** `UserDefinedNetwork blue/net`; absent when the text is no object at all. */
  readonly object?: string;
  /** `spec.layer3.mtu`. */
  readonly field?: string;
  readonly value?: unknown;
  readonly message: string;
}

interface RefusedObject {
  /** As in its errors. */
  readonly object: string;
  readonly written: PlainObject;
}

interface UnknownKind extends Position {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: string;
  readonly written: PlainObject;
}

export interface Manifest {
  readonly documents: readonly ManifestDocument[];
  readonly errors: readonly ManifestError[];
  /** Accepted, but probably not what was meant: what only an object that is stored already may have. */
  readonly warnings: readonly ManifestError[];
  /** Objects of our kinds that have errors: what is stored may be like that, from before a rule existed. */
  readonly refused: readonly RefusedObject[];
  /** Objects of kinds that we don't know: the caller warns once per kind and skips them. */
  readonly unknownKinds: readonly UnknownKind[];
}

/** Limits on hostile text. Our largest sensible object (400 subnets) has some thousand nodes and depth 8. */
const MAX_TEXT = 32 * 1024 * 1024;
const MAX_DEPTH = 100;
const MAX_NODES = 1_000_000;
const MAX_OPEN = 1000;
const LONGEST_REASON = 200;
const STORED_LIKE_THIS = 'accepted, since what is stored has it; a new object would be refused';

/** `file:line:column: object: field: message`, with what is known. */
export function formatManifestError(error: ManifestError): string {
  const place = `${error.file}:${error.line}:${error.column}`;
  return [place, error.object, error.field, error.message]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
}

/** `Kind namespace/name` as far as the object says. */
export function describeObject(object: unknown): string {
  if (!isPlainObject(object)) return 'object';
  const kind = own(object, 'kind');
  const metadata = own(object, 'metadata');
  const meta = isPlainObject(metadata) ? metadata : {};
  const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 253) : '');
  const name = text(own(meta, 'name')) || '(without a name)';
  const place = [text(own(meta, 'namespace')), name].filter(Boolean).join('/');
  return `${text(kind) || 'object'} ${place}`;
}

/** One part of a document that should be an object: the document itself, or an item of a List in it. */
interface Part {
  readonly value: unknown;
  readonly path: FieldPath;
}

/** The stored version of an object that is about to be read, if it has one: its transition rules are then checked. */
export type PreviousVersion = (object: PlainObject) => unknown;

class Reader {
  readonly documents: ManifestDocument[] = [];
  readonly errors: ManifestError[] = [];
  readonly warnings: ManifestError[] = [];
  readonly refused: RefusedObject[] = [];
  readonly unknownKinds: UnknownKind[] = [];
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #previous: PreviousVersion;

  constructor(file: string, lines: LineCounter, previous: PreviousVersion) {
    this.#file = file;
    this.#lines = lines;
    this.#previous = previous;
  }

  at(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /** Position of the value at `path`, or of the nearest value around it that is written. */
  #positionOf(document: Document.Parsed, path: FieldPath): Position {
    let node: YamlNode | null = document.contents;
    let offset = node?.range?.[0] ?? document.range[0];
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(document) ?? null;
      const next = child(node, part);
      if (next === undefined) break;
      offset = next.offset;
      node = next.node;
    }
    return this.at(offset);
  }

  read(document: Document.Parsed): void {
    // One syntax error makes the parser stumble over the rest of the document: the first one is the cause.
    const [syntax] = document.errors;
    if (syntax !== undefined) {
      const reason = /call stack/.test(syntax.message)
        ? 'nested too deeply'
        : syntax.message.slice(0, LONGEST_REASON);
      this.errors.push({ ...this.at(syntax.pos[0]), message: `not valid YAML: ${reason}` });
      return;
    }
    if (document.contents === null) return;
    if (isScalar(document.contents) && document.contents.value === null) return;
    const twice = duplicateKey(document);
    if (twice !== undefined) {
      const message = `not valid YAML: key ${formatValue(twice.value)} is written twice in one map`;
      this.errors.push({ ...this.at(twice.range?.[0] ?? 0), message });
      return;
    }
    const value = this.#toValue(document);
    if (value === undefined) return;
    for (const part of this.#parts(value, [])) this.#readObject(document, part);
  }

  /** The document as plain data, or undefined after reporting why it can't be had. */
  #toValue(document: Document.Parsed): unknown {
    const start = this.at(document.contents?.range[0] ?? document.range[0]);
    try {
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      const problem = hostileShape(value);
      if (problem === undefined) return value ?? undefined;
      this.errors.push({ ...start, message: problem });
    } catch (error) {
      const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
      this.errors.push({ ...start, message: `not usable as an object: ${reason}` });
    }
    return undefined;
  }

  /** Objects of a document: items of `kind: …List` in any nesting, and of plain sequences. */
  #parts(value: unknown, path: FieldPath): Part[] {
    if (Array.isArray(value)) {
      return value.flatMap((item: unknown, index) => this.#parts(item, [...path, index]));
    }
    if (isPlainObject(value)) {
      const kind = own(value, 'kind');
      const items = own(value, 'items');
      if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) {
        return this.#parts(items, [...path, 'items']);
      }
    }
    return [{ value, path }];
  }

  #readObject(document: Document.Parsed, { value, path }: Part): void {
    const position = this.#positionOf(document, path);
    const positionOf = (field: FieldPath): Position =>
      this.#positionOf(document, [...path, ...field]);
    const object = describeObject(value);
    if (!isPlainObject(value)) {
      const actual = Array.isArray(value)
        ? 'a list'
        : value === null
          ? 'nothing'
          : `a ${typeof value}`;
      const message = `is ${actual}, not an object: write a map with apiVersion, kind and metadata`;
      this.errors.push({ ...position, message });
      return;
    }
    const result = validateObject(withoutStatus(value), this.#previous(value));
    if (result.kind === 'unknown-kind') {
      const { apiVersion, kindName } = result;
      this.unknownKinds.push({ ...position, apiVersion, kind: kindName, object, written: value });
      return;
    }
    // A field that nobody reads is one that does not narrow what it was written to narrow.
    const unknown = result.warnings.map(({ path: field, remedy }) => ({
      ...positionOf(field),
      object,
      field: shownPath(field),
      message: `unknown field: ${remedy || 'correct its name, or take it out'}`,
    }));
    const errors = result.kind === 'invalid' ? result.errors : [];
    this.errors.push(
      ...unknown,
      ...errors.map((error) => manifestError(error, object, positionOf)),
    );
    if (result.kind === 'invalid' || unknown.length > 0) {
      this.refused.push({ object, written: value });
      return;
    }
    for (const error of result.tolerated) {
      const warning = manifestError(error, object, positionOf);
      this.warnings.push({ ...warning, message: `${warning.message} (${STORED_LIKE_THIS})` });
    }
    const { resource: kind, object: valid } = result;
    this.documents.push({ kind, object: valid, written: value, position, positionOf });
  }
}

/** Who declares an object does not say what became of it: that is dropped, as an API server drops it. */
function withoutStatus(object: PlainObject): PlainObject {
  const [apiVersion, kind] = [own(object, 'apiVersion'), own(object, 'kind')];
  if (!hasStatusSubresource(String(apiVersion), String(kind))) return object;
  const { status: _observed, ...declared } = object as Record<string, unknown>;
  return declared;
}

/** The error of a field with its place in the file. */
function manifestError(
  error: FieldError,
  object: string,
  positionOf: (path: FieldPath) => Position,
): ManifestError {
  return {
    ...positionOf(error.path),
    object,
    ...(error.path.length === 0 ? {} : { field: shownPath(error.path) }),
    ...(error.value === undefined ? {} : { value: error.value }),
    message: [formatProblem(error), remedyOf(error)].filter(Boolean).join('; '),
  };
}

/** The value of a key or index in a YAML node, and where to point at: a key stands for its value. */
function child(
  node: YamlNode | null,
  part: string | number,
): { readonly node: YamlNode | null; readonly offset: number } | undefined {
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      if (isScalar(key) && String(key.value) === String(part)) {
        const offset = key.range?.[0];
        return offset === undefined ? undefined : { node: value as YamlNode | null, offset };
      }
    }
  }
  if (isSeq(node) && typeof part === 'number') {
    const item = node.items[part] as YamlNode | null | undefined;
    const offset = item?.range?.[0];
    return item === undefined || offset === undefined ? undefined : { node: item, offset };
  }
  return undefined;
}

/** The second of two equal keys of a map. */
function duplicateKey(document: Document.Parsed): Scalar | undefined {
  let found: Scalar | undefined;
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        // Several merge keys are allowed: each adds what the others lack.
        if (seen.has(key.value) && key.value !== '<<') {
          found = key;
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}

/** Whether flow collections are opened so often without being closed that parsing them would take very long. */
function opensWithoutEnd(text: string): boolean {
  let open = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    open = bracket === '[' || bracket === '{' ? open + 1 : Math.max(0, open - 1);
    if (open > MAX_OPEN) return true;
  }
  return false;
}

/** Why a value is refused before anything looks at it: too deep, too large when aliases are written out, odd keys. */
function hostileShape(root: unknown): string | undefined {
  let nodes = 0;
  const walk = (value: unknown, depth: number): string | undefined => {
    if (++nodes > MAX_NODES)
      return `has more than ${MAX_NODES} values: split it into several objects`;
    if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
    if (typeof value !== 'object' || value === null) return undefined;
    if (value instanceof Map || value instanceof Set || value instanceof Date) {
      return 'holds a YAML type that Kubernetes objects do not have: use maps, lists, strings, numbers, booleans';
    }
    for (const key of Object.keys(value)) {
      if (key === '__proto__') return 'has a key "__proto__", which no Kubernetes object has';
      const problem = walk((value as PlainObject)[key], depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  return walk(root, 0);
}

/** Plain `yes`, `no`, `on` and `off` are booleans for kubectl, which reads YAML 1.1: what is meant as a text has to be in quotes. */
const KUBECTL_BOOLEAN: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:[yY]|[yY]es|YES|[oO]n|ON|[nN]|[nN]o|NO|[oO]ff|OFF)$/,
  resolve: (text) => /^(?:y|on)/i.test(text),
};

/**
 * The objects of a manifest, each validated as an API server would. One bad document, object or field does not keep
 * the others from being read. With `previous`, updates are checked too. Never throws.
 */
export function parseManifest(
  text: string,
  file: string,
  previous: PreviousVersion = () => undefined,
): Manifest {
  const lines = new LineCounter();
  const reader = new Reader(file, lines, previous);
  const failed = (message: string): Manifest => ({
    documents: reader.documents,
    errors: [...reader.errors, { file, line: 1, column: 1, message }],
    warnings: reader.warnings,
    refused: reader.refused,
    unknownKinds: reader.unknownKinds,
  });
  if (text.length > MAX_TEXT) {
    return failed(`is larger than ${MAX_TEXT / 1024 / 1024} MiB: split it into several files`);
  }
  if (opensWithoutEnd(text)) return failed('not valid YAML: nested too deeply');
  try {
    const source = text.startsWith('\uFEFF') ? text.slice(1) : text;
    const documents = parseAllDocuments(source, {
      lineCounter: lines,
      // The parser compares every pair of keys; duplicateKey() needs one pass.
      uniqueKeys: false,
      prettyErrors: false,
      merge: true,
      stringKeys: true,
      customTags: (tags) => [KUBECTL_BOOLEAN, ...tags],
      logLevel: 'silent',
    });
    for (const document of documents) reader.read(document);
  } catch (error) {
    // The parser recurses over nesting, and runs out of stack on text made for that.
    const reason = error instanceof RangeError ? 'nested too deeply' : String(error);
    return failed(`not valid YAML: ${reason}`);
  }
  const { documents, errors, warnings, refused, unknownKinds } = reader;
  return { documents, errors, warnings, refused, unknownKinds };
}
