/** Who is selected among the pods of truth-table.ts. */

export const of = (...pods: string[]): object =>
  pods.length === 1
    ? { matchLabels: { pod: pods[0] } }
    : { matchExpressions: [{ key: 'pod', operator: 'In', values: pods }] };
export const ALL = {};
export const ns = (space: string): object => ({ matchLabels: { ns: space } });
