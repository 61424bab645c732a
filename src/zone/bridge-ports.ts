/** Ports of the bridges of this node, as the local Open_vSwitch database has them. */
import { mapIn, textIn, type LookedUpRow, type RowLookup } from '../databases/row-lookup.ts';
import type { BridgeOutput } from '../packets/bridge-trace.ts';

/** A port that leads to another bridge. */
export const isPatch = (port: LookedUpRow | undefined): boolean =>
  port !== undefined && textIn(port, 'type') === 'patch';

/** What the port of an output is called; its number where the database does not have it. */
export const nameOf = (
  { bridge, port }: Pick<BridgeOutput, 'bridge' | 'port'>,
  ports: ReadonlyMap<string, LookedUpRow>,
): string => {
  const row = ports.get(`${bridge} ${port}`);
  return row === undefined ? port : textIn(row, 'name');
};

/** Interfaces by bridge and number. */
export async function portsOf(ovs: RowLookup): Promise<ReadonlyMap<string, LookedUpRow>> {
  const [bridges, ports, interfaces] = await Promise.all([
    ovs.select('Bridge', [], ['name', 'ports']),
    ovs.select('Port', [], ['interfaces']),
    ovs.select('Interface', [], ['name', 'type', 'ofport', 'external_ids']),
  ]);
  const [portById, interfaceById] = [byUuid(ports), byUuid(interfaces)];
  const found = new Map<string, LookedUpRow>();
  for (const bridge of bridges)
    for (const port of membersOf(bridge, 'ports', portById))
      for (const one of membersOf(port, 'interfaces', interfaceById)) {
        const number = Number(one.columns['ofport']);
        if (number > 0) found.set(`${textIn(bridge, 'name')} ${number}`, one);
      }
  return found;
}

/** The number of the interface that ovn-controller takes for a logical switch port; undefined where none is plugged in. */
export async function portNumberOf(
  ovs: RowLookup,
  logicalPort: string,
): Promise<number | undefined> {
  const interfaces = await ovs.select('Interface', [], ['ofport', 'external_ids']);
  const found = interfaces.find((row) => mapIn(row, 'external_ids')['iface-id'] === logicalPort);
  const number = Number(found?.columns['ofport']);
  return number > 0 ? number : undefined;
}

const byUuid = (rows: readonly LookedUpRow[]): ReadonlyMap<string, LookedUpRow> =>
  new Map(rows.map((row) => [row.uuid, row]));

/** A set with one member is that member. */
function membersOf(
  row: LookedUpRow,
  column: string,
  byId: ReadonlyMap<string, LookedUpRow>,
): readonly LookedUpRow[] {
  const value = row.columns[column];
  return (Array.isArray(value) ? value : [value]).flatMap((uuid) => byId.get(String(uuid)) ?? []);
}
