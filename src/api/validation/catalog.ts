/** The schemas of our CRDs, by version and kind. */
import { customResourceDefinitions } from './crds.generated.ts';
import type { Schema } from './schema.ts';

export interface CustomResourceDefinition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly shortNames?: readonly string[];
    };
    readonly conversion?: {
      readonly webhook?: {
        readonly clientConfig: {
          readonly service?: {
            readonly name: string;
            readonly namespace: string;
            readonly port: number;
          };
        };
      };
    };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: Schema };
      readonly subresources?: { readonly status?: object };
      readonly additionalPrinterColumns?: readonly {
        readonly name: string;
        readonly type: string;
        readonly jsonPath: string;
      }[];
    }[];
  };
}

/** What schemas/crds/*.yaml hold. */
export const definitions = customResourceDefinitions as readonly CustomResourceDefinition[];

const schemas = new Map<string, Schema>(
  definitions.flatMap(({ spec }) =>
    spec.versions.map((version): [string, Schema] => [
      `${spec.group}/${version.name} ${spec.names.kind}`,
      version.schema.openAPIV3Schema,
    ]),
  ),
);

/** True for kinds of ours whose status an API server takes only through its subresource: in a manifest it is ignored. */
export const hasStatusSubresource = (apiVersion: string, kind: string): boolean =>
  definitions.some(
    ({ spec }) =>
      spec.names.kind === kind &&
      spec.versions.some(
        ({ name, subresources }) =>
          `${spec.group}/${name}` === apiVersion && subresources?.status !== undefined,
      ),
  );

/** Schema of an object, or undefined for kinds that no CRD of ours defines. */
export const schemaOf = (apiVersion: string, kind: string): Schema | undefined =>
  schemas.get(`${apiVersion} ${kind}`);
