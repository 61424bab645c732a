/** Namespaces. */
import { FactTable } from '../../facts/fact-table.ts';
import type { NamespaceFacts } from '../model.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type NamespaceTables = ReturnType<typeof namespaceTables>;

export const namespaceTables = ({ recorder }: ZoneBasis) => ({
  namespaces: new FactTable<[namespace: string], NamespaceFacts>('namespaces', recorder),
});
