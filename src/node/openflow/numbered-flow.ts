/** Flows with the numbers of their ports. A bridge has thousands of them, which are compared again and again, and rarely differ. */
import { flowKey, portsIn, withNumbers, type FlowColumns } from './flow-rows.ts';

type NumberOf = (name: string) => string | undefined;

/** A flow as the switch is to have it. */
export interface NumberedFlow {
  readonly key: string;
  readonly flow: Omit<FlowColumns, 'bridge'>;
}

interface Known {
  readonly ports: readonly (readonly [name: string, number: string | undefined])[];
  readonly numbered: NumberedFlow | undefined;
}

const known = new WeakMap<FlowColumns, Known>();

/** Undefined while the number of a port is not known. The same object as before while the numbers are. */
export function numberedFlow(columns: FlowColumns, numberOf: NumberOf): NumberedFlow | undefined {
  const before = known.get(columns);
  if (before?.ports.every(([name, number]) => numberOf(name) === number) === true)
    return before.numbered;
  const names = new Set([...portsIn(columns.match), ...portsIn(columns.actions)]);
  const numbered = withPorts(columns, numberOf);
  known.set(columns, { ports: [...names].map((name) => [name, numberOf(name)]), numbered });
  return numbered;
}

function withPorts(columns: FlowColumns, numberOf: NumberOf): NumberedFlow | undefined {
  const { table, priority, cookie } = columns;
  const match = withNumbers(columns.match, numberOf);
  const actions = withNumbers(columns.actions, numberOf);
  if (match === undefined || actions === undefined) return undefined;
  const flow = { table, priority, cookie, match, actions };
  return { key: flowKey(flow), flow };
}
