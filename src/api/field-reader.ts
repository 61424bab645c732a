/** Reads fields of objects that nobody has checked yet: their types and values, with an error for each that is wrong. */
import { formatAddress, parseAddress } from '../allocators/addresses.ts';
import type { PlainObject } from './plain-object.ts';
import { isPlainObject, own } from './plain-object.ts';
import type { Protocol } from './types.ts';
import {
  unknownField,
  type FieldError,
  type FieldPath,
  type FieldWarning,
} from './validation/field-errors.ts';
import { nearestName } from './validation/nearest-name.ts';

/** Adds errors to `errors` and answers with values of known types; wrong ones are reported and left out. */
export class FieldReader {
  readonly errors: FieldError[] = [];
  /** What a manifest is refused for; an API server that has stored it may know more words than we do. */
  readonly unlisted: FieldError[] = [];
  /** The maps that were looked into, where they are, and the fields that were asked for. */
  readonly #asked = new Map<
    PlainObject,
    { readonly path: FieldPath; readonly fields: Set<string> }
  >();

  /**
   * Fields that look like one that was asked for and is not there. What else a map holds is somebody else's: kinds of Kubernetes have many fields
   * that we don't read, and every release has more.
   */
  typos(): FieldWarning[] {
    return [...this.#asked].flatMap(([parent, { path, fields }]) => {
      // Nobody writes what is observed.
      if (path[0] === 'status') return [];
      const missing = [...fields].filter((field) => !Object.hasOwn(parent, field));
      return Object.keys(parent)
        .filter((key) => !fields.has(key) && nearestName(key, missing) !== undefined)
        .map((key) => unknownField([...path, key], missing));
    });
  }

  mismatch(path: FieldPath, value: unknown, type: string): undefined {
    this.errors.push({ type: 'TypeInvalid', path, value, detail: `must be a ${type}` });
    return undefined;
  }

  object(parent: PlainObject, path: FieldPath): PlainObject {
    const value = this.#child(parent, path);
    if (value === undefined) return {};
    return isPlainObject(value) ? value : (this.mismatch(path, value, 'map') ?? {});
  }

  text(parent: PlainObject, path: FieldPath): string | undefined {
    const value = this.#child(parent, path);
    if (value === undefined || typeof value === 'string') return value;
    return this.mismatch(path, value, 'string (put the value in quotes)');
  }

  /** One of the words that Kubernetes has for it, or none. */
  word(parent: PlainObject, path: FieldPath, words: readonly string[]): string | undefined {
    const text = this.text(parent, path);
    if (text !== undefined && text !== '' && !words.includes(text))
      this.unlisted.push({
        type: 'NotSupported',
        path,
        value: text,
        detail: `supported values: ${words.map((word) => `"${word}"`).join(', ')}`,
      });
    return text;
  }

  flag(parent: PlainObject, path: FieldPath): boolean | undefined {
    const value = this.#child(parent, path);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.mismatch(path, value, 'boolean: true or false, without quotes');
  }

  port(parent: PlainObject, path: FieldPath): number | undefined {
    const value = this.#child(parent, path);
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535)
      return value;
    return this.mismatch(path, value, 'port: a number from 1 to 65535');
  }

  /** `TCP` by default. */
  protocol(parent: PlainObject, path: FieldPath): Protocol {
    const value = this.#child(parent, path) ?? 'TCP';
    if (value !== 'TCP' && value !== 'UDP' && value !== 'SCTP')
      this.mismatch(path, value, 'protocol: TCP, UDP or SCTP');
    return value as Protocol;
  }

  /** A port that may be left out, or 0 for none. */
  optionalPort(parent: PlainObject, path: FieldPath): number | undefined {
    const value = this.#child(parent, path);
    return value === undefined || value === 0 ? undefined : this.port(parent, path);
  }

  /** An address in canonical form. */
  address(text: unknown, path: FieldPath): string | undefined {
    const address = typeof text === 'string' ? parseAddress(text) : undefined;
    if (address !== undefined) return formatAddress(address);
    this.errors.push({ type: 'Invalid', path, value: text, detail: 'must be an IP address' });
    return undefined;
  }

  addresses(texts: readonly unknown[], path: FieldPath): string[] {
    return texts.flatMap((text, index) => this.address(text, [...path, index]) ?? []);
  }

  /** The items of a list that are maps, each with its path. */
  maps(parent: PlainObject, path: FieldPath): [PlainObject, FieldPath][] {
    return this.list(parent, path).flatMap((item, index): [PlainObject, FieldPath][] => {
      const at = [...path, index];
      if (isPlainObject(item)) return [[item, at]];
      this.mismatch(at, item, 'map');
      return [];
    });
  }

  list(parent: PlainObject, path: FieldPath): readonly unknown[] {
    const value = this.#child(parent, path);
    if (value === undefined) return [];
    return Array.isArray(value) ? value : (this.mismatch(path, value, 'list') ?? []);
  }

  /** Maps with the given text fields, all required. */
  records<K extends string>(
    parent: PlainObject,
    path: FieldPath,
    fields: readonly K[],
  ): Record<K, string>[] {
    return this.list(parent, path).flatMap((item, index) => {
      const at = [...path, index];
      if (!isPlainObject(item)) {
        this.mismatch(at, item, 'map');
        return [];
      }
      const before = this.errors.length;
      const entries = fields.map((field): [string, string] => {
        const text = this.text(item, [...at, field]);
        if (text === undefined && this.errors.length === before) {
          this.errors.push({ type: 'Required', path: [...at, field], detail: '' });
        }
        return [field, text ?? ''];
      });
      return this.errors.length > before ? [] : [Object.fromEntries(entries) as Record<K, string>];
    });
  }

  #child(parent: PlainObject, path: FieldPath): unknown {
    const asked = this.#asked.get(parent);
    if (asked === undefined)
      this.#asked.set(parent, {
        path: path.slice(0, -1),
        fields: new Set([String(path.at(-1))]),
      });
    else asked.fields.add(String(path.at(-1)));
    const value = own(parent, String(path.at(-1)));
    return value === null ? undefined : value;
  }
}

/** What is null is absent, as API servers have it. */
export const withoutNulls = (object: PlainObject): PlainObject =>
  Object.values(object).includes(null)
    ? Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
    : object;

/** The members that have a value. */
export const compact = (object: Record<string, unknown>): PlainObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
