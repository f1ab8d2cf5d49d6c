// Errors of any kind as those of calls, which say what to do next.
import { ApiError } from "../api/client";

export function toApiError(problem: unknown): ApiError {
  return problem instanceof ApiError ? problem : new ApiError("E_PAGE", String(problem), "reload the page", 0);
}
