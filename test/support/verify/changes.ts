/** What differs between two readings, as a kept proof takes it. */
import { objectKey, type KubeObject } from '../../../src/api/objects.ts';
import type { Changes } from '../../../src/verify/kept/kept-proof.ts';
import { rowsOf, uuidOf, type Row, type Tables } from '../../../src/verify/rows.ts';
import type { Objects, Policies, Snapshot } from '../../../src/verify/snapshot.ts';

type Named<T> = ReadonlyMap<string, T>;

function changed<T>(before: Named<T>, after: Named<T>): Map<string, T | undefined> {
  const found = new Map<string, T | undefined>();
  for (const key of before.keys()) if (!after.has(key)) found.set(key, undefined);
  for (const [key, value] of after) if (before.get(key) !== value) found.set(key, value);
  return found;
}

/** Rows in tests may have no UUID of their own: their place is it. */
const byUuid = (tables: Tables | undefined, table: string): Named<Row> =>
  new Map(
    rowsOf(tables ?? new Map(), table).map((row, index) => [
      uuidOf(row) === '' ? `${table} ${index}` : uuidOf(row),
      row,
    ]),
  );

const byKey = (objects: readonly KubeObject[] | undefined): Named<KubeObject> =>
  new Map((objects ?? []).map((one) => [objectKey(one.metadata), one]));

/** Those of two kinds may have one name. */
const byKind = (objects: readonly KubeObject[] | undefined): Named<KubeObject> =>
  new Map((objects ?? []).map((one) => [`${one.kind} ${objectKey(one.metadata)}`, one]));

/** From `before`, or from nothing, to `after`. */
export function changesBetween(before: Snapshot | undefined, after: Snapshot): Changes {
  const tables = new Set([...(before?.northbound.keys() ?? []), ...after.northbound.keys()]);
  const objects = Object.fromEntries(
    (Object.keys(after.objects) as (keyof Objects)[]).map((kind) => [
      kind,
      changed(byKey(before?.objects[kind]), byKey(after.objects[kind])),
    ]),
  );
  const parts = Object.keys(after.policies ?? {}) as (keyof Policies)[];
  const policies =
    after.policies &&
    Object.fromEntries(
      parts.map((part) => [
        part,
        changed(byKind(before?.policies?.[part]), byKind(after.policies?.[part])),
      ]),
    );
  return {
    rows: new Map(
      [...tables].map((table) => [
        table,
        changed(byUuid(before?.northbound, table), byUuid(after.northbound, table)),
      ]),
    ),
    objects,
    ...(policies === undefined ? {} : { policies }),
  };
}
