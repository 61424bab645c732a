/** How often OVN's incremental engines worked a node of theirs out from nothing: ovn-northd and ovn-controller by their control sockets. */
import { runOvs } from '../ovsdb/ovsdb-server.ts';

/** Full computations so far, by node of the engine. */
export async function recomputes(control: string): Promise<ReadonlyMap<string, number>> {
  const text = await runOvs('ovn-appctl', ['-t', control, 'inc-engine/show-stats']);
  const found = text.matchAll(/^Node: (\S+)\n- recompute:\s+(\d+)$/gm);
  const counts = new Map([...found].map(([, node = '', count]) => [node, Number(count)]));
  if (counts.size === 0) throw new Error(`no statistics in ${JSON.stringify(text)}`);
  return counts;
}

/** The nodes that cost as much as there is: in ovn-northd, and in ovn-controller. */
const COSTLY = ['northd', 'lflow', 'runtime_data', 'logical_flow_output', 'physical_flow_output'];

/** The costly nodes that were worked out from nothing since then, and how often. */
export const since = (
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    COSTLY.map((node) => [node, (after.get(node) ?? 0) - (before.get(node) ?? 0)] as const).filter(
      ([, count]) => count > 0,
    ),
  );

/** Makes the program write down each full computation, and why. */
export async function logRecomputes(control: string): Promise<void> {
  await runOvs('ovn-appctl', ['-t', control, 'vlog/set', 'inc_proc_eng:file:dbg']);
}

/** Of such a log: costly nodes that were worked out from nothing for the sake of an input, with how often. */
export function reasonsIn(log: string): readonly string[] {
  const found = [
    ...log.matchAll(/node: (\S+), recompute \((?:failed|missing) handler for input (\S+)\)/g),
  ]
    .filter(([, node = '']) => COSTLY.includes(node))
    .map(([, node, input]) => `${node} by ${input}`);
  return [...Map.groupBy(found, (one) => one)].map(([one, all]) => `${all.length} × ${one}`);
}
