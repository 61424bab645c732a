/** What the daemon of a node changed lately, and what it put right, for people and programs. Pure. */

/** Rows of a database, or of a kind of the host's state. */
export interface ChangeCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

export interface NodeChange extends ChangeCounts {
  /** RFC 3339. */
  readonly at: string;
  /** `drift`: somebody else had changed these, and they are as they were. */
  readonly kind: 'wrote' | 'drift';
  /** OVN_Northbound, Open_vSwitch, nftables … */
  readonly database: string;
  /** For which objects, those with most rows first; rows of what is gone have none. */
  readonly objects: readonly { readonly object: string; readonly rows: number }[];
  /** How many further objects. */
  readonly more: number;
  /** Of drift: rows, and what had been done to them, as many as are kept. */
  readonly rows?: readonly string[];
  /** Of drift: programs that had done it, as far as that is known. */
  readonly by?: readonly string[];
}

export interface NodeChanges {
  readonly node: string;
  /** When the daemon began to note them, RFC 3339. */
  readonly since: string;
  /** How many came since then; the oldest are not kept. */
  readonly count: number;
  /** The newest first. */
  readonly changes: readonly NodeChange[];
}

/** `+3 ~1`; nothing of what is zero. */
export const countsText = ({ added, changed, removed }: ChangeCounts): string =>
  [[added, '+'] as const, [changed, '~'] as const, [removed, '-'] as const]
    .flatMap(([count, sign]) => (count === 0 ? [] : `${sign}${count}`))
    .join(' ');

/** For which objects, in one line. */
export function objectsText({ objects, more }: Pick<NodeChange, 'objects' | 'more'>): string {
  const named = objects.map(({ object }) => object).join(', ');
  return named === '' ? '-' : `${named}${more === 0 ? '' : ` and ${more} more`}`;
}

export interface Choice {
  /** `Kind namespace/name`, `namespace/name` or a name. */
  readonly object?: string | undefined;
  readonly onlyDrift?: boolean | undefined;
}

/** Of an object alone, or of drift alone. An object that is among further ones of a change can't be found there. */
export const chosenChanges = (
  changes: readonly NodeChange[],
  { object, onlyDrift }: Choice,
): readonly NodeChange[] =>
  changes.filter(
    ({ kind, objects }) =>
      (onlyDrift !== true || kind === 'drift') &&
      (object === undefined ||
        objects.some((one) => one.object === object || one.object.endsWith(` ${object}`))),
  );
