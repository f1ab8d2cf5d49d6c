// Errors as the page shows them.
import { ApiError } from "../api/client";

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiError("E_PAGE", message, "reload the page", 0);
}
