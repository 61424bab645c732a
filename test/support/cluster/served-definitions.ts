import { definitions } from '../../../src/api/validation/catalog.ts';

/** Our definitions for an API server without a conversion webhook: objects are written in the stored version. */
export const servedDefinitions: readonly object[] = definitions.map(({ spec, ...rest }) => {
  const { conversion: _conversion, ...kept } = spec as typeof spec & { conversion?: unknown };
  return { ...rest, spec: kept };
});
